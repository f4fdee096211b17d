"""What the coding agents themselves write down of their conversations.

Each agent keeps a record of its sessions: Claude Code and Codex a file of JSON lines for each one,
opencode a SQLite database. A record shows which texts were submitted and whether a turn runs,
whatever the screen shows. The forms were measured on Claude Code 2.1, Codex 0.171 and opencode 1.18.

A record only ever proves or vetoes. What cannot be read or understood is *not known*: the readers
return ``None`` or leave the row out, and raise nothing.
"""

from __future__ import annotations

from cafleet.agents.sessions.record import Activity, Session, Turn

__all__ = ["Activity", "Session", "Turn"]
