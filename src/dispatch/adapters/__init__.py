"""The adapters that come with dispatch. Each knows nothing of the others, and enters by the door of a third party's."""
