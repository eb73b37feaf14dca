"""Train and tag on a Ray cluster."""
