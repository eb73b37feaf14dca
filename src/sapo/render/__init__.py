"""Render results as text, HTML and figures."""
