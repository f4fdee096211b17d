"""Text and wire forms of records: pure functions, one home for each shape."""
