"""CAFleet: the message broker and member registry for coding agents that work as a team in terminal panes."""

__version__ = "0.1.0"
