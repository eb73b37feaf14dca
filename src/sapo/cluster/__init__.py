"""More than one machine: train and tag on a Ray cluster. Only `sapo.cluster.connection` imports Ray."""
