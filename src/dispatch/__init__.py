"""Submit and supervise multi-node training jobs on the scheduler that you already have."""
