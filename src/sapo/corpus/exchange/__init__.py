"""Read and write the annotations of other tools: one file for each, with an entry in `TABLE` of corpus/formats.py."""
