"""What the user said in, one run out; and the update of a trained model."""
