"""Record stores: where the events of jobs are kept."""
