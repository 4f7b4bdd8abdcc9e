"""The commands, one file each; ``dispatch.cli.main`` loads only the one that is used."""
