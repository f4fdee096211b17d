"""A demonstration fleet of small scripted agents; the tests run the same agents."""
