"""What would my policy do? A job and its policy, played against a model of failures by the real decisions of the core."""
