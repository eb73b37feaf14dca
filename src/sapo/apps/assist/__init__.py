"""Suggest annotations to Label Studio and INCEpTION, and learn from those that people make.

Needs the extra `serve`; for INCEpTION also the extra `inception`.
"""
