"""Repeat the paper's experiments: train its systems on its tasks, and report what they have shown."""
