"""Cut raw text into sentences and tokens with their character offsets, by rules that a model learns and keeps."""
