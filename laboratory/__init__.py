"""Repeat the paper's experiments: fetch its corpora, train its systems on its tasks, and report the results."""
