"""How a notice reaches an agent: what is typed, when, and what proves that it arrived."""
