"""Values: what every part of dispatch speaks of. Imports no other part."""
