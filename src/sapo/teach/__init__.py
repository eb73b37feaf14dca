"""Teach a tagger on a page in the browser (`sapo teach`). Needs the extra `serve`."""
