"""The command line: one file a command; ``render`` and ``telling`` turn values into text, apart from all else."""
