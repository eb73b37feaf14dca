"""Answer requests over HTTP with trained models."""
