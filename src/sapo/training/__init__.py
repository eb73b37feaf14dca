"""Train a tagger from a user's options, calibrate it, and update it with new sentences."""
