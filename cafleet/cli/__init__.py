"""The command line: each command parses, calls one operation and presents what came of it."""
