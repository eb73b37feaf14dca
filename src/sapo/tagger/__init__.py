"""Use a trained model: tag sentences, files and streams, with n-best taggings and probabilities."""
