"""Pure decisions: values and ``now`` in, values out. Imports the model only."""
