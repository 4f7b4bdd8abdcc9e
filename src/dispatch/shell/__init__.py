"""The moving parts: what reads clocks, files and clusters, and drives the pure core."""
