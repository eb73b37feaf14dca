"""Keep a corpus in shards on disk: written once, checked, and read chunk by chunk in each pass.

The cache directory has

    manifest.json           the request it was made for, and every file that is complete
    NNNNN.features          the features of some thousand sentences
    NNNNN.gold              their gold tags
    dictionary              the encoder
    counts                  how often each feature occurs
    checkpoint              the state of training after the last pass
    NNNNN.ids, counting/    only while the directory is being made
"""
