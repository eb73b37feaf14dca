"""Public corpora: which there are, where they are on this machine, and how to fetch and convert them."""
