"""Shipped for tests: yours as well as ours."""
