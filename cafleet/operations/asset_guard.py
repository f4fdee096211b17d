"""The assets guard: no fleet command runs while the agents have the skill of another version."""

from __future__ import annotations

from cafleet import __version__
from cafleet.agents.paths import locate
from cafleet.broker import assets
from cafleet.errors import AgentError, IntegrityError
from cafleet.records import CodingAgent
from cafleet.store import Connection


def check_assets(conn: Connection) -> None:
    """Compare the recorded installations at the agents' present paths with this program.

    Raises:
        SettingError: a variable that says where an agent's files live is unusable.
        AgentError: nothing is installed at these paths, or something of another version.
        IntegrityError: the record of one at these paths is damaged.
    """
    places = [(agent, locate(agent).base) for agent in CodingAgent]
    sound, damaged = assets.installs(conn)
    for broken in damaged:
        if (broken.coding_agent, broken.path) in places:
            raise IntegrityError(broken.fault)
    current = [row for row in sound if (row.coding_agent, row.path) in places]
    if not current:
        raise AgentError("no coding agent has its skill installed yet; run `cafleet setup`")
    for row in current:
        if row.cafleet_version != __version__:
            raise AgentError(
                f"the skill of {row.coding_agent} in {row.path} is from cafleet "
                f"{row.cafleet_version or 'of no version'}, and this is {__version__}; run `cafleet setup`"
            )
