"""Keep a corpus in shards on disk: written once, checked, and read chunk by chunk in each pass.

The cache directory has

    manifest.json           what was asked for, and every file that is whole (manifest.py)
    NNNNN.features          the features of some thousand sentences (files.py)
    NNNNN.gold              their gold tags
    dictionary              the encoder
    counts                  how often each feature occurs
    checkpoint              the state of training after the last pass
    NNNNN.ids, counting/    only while the directory is being made

A file is written beside its place and moved into it, and then named in the manifest: a shard done is a shard whole.
"""
