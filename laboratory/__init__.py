"""The paper's experiments: tasks and systems in, files of runs out. Only the command line knows of this room."""
