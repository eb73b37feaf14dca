"""Teach a tagger on a page in the browser."""
