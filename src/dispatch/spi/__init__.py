"""The seams: what adapters, stores, transports and clocks implement."""
