"""Recorded histories as models of failures: what sacct tells, and our own records."""
