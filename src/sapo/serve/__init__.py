"""Answer requests over HTTP with trained models (`sapo serve`). Needs the extra `serve`."""
