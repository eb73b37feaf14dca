"""Search a lattice for the best tagging or the n best ones, and sum over all of them."""
