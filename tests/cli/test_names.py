"""Names that the installed program refuses, and what it has changed by then: nothing."""

from __future__ import annotations

import pytest

from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry


@pytest.fixture(autouse=True)
def crew(cafleet: Program, registry: Registry) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.crew("ann")


@pytest.mark.parametrize(
    ("name", "exit_code", "fragment"),
    [
        ("n" * 5_000, 2, "'--name': a name may be 80 columns wide, and this one is 5000"),
        ("界" * 41, 2, "80 columns wide"),
        ("a\u200bnn", 2, r"a name may not hold \u200b, which nobody sees"),
        ("ann\U000e0041", 2, r"\U000e0041"),
        ("a\x1b[2Jnn", 2, r"\x1b"),
        ("ann", 1, 'member 3 has the name "ann"'),
        ("Ann", 1, '"Ann" reads like "ann", the name of member 3'),
        ("аnn", 1, 'reads like "ann"'),
        (" ann ", 1, 'reads like "ann"'),
        ("DIRECTOR", 1, "reads like Director"),
        ("mоnitor", 1, "reads like monitor"),
    ],
)
def test_a_name_that_deceives_is_refused(
    cafleet: Program, registry: Registry, name: str, exit_code: int, fragment: str
) -> None:
    before = registry.dump()
    wishes = ["--name", name, "--description", "d", "--coding-agent", "claude", "hi"]
    command = ["member", "create", "--fleet-id", "1", *wishes]
    assert_refused(cafleet.run(*command), exit_code, fragment)
    if name != "ann":
        assert_refused(cafleet.run(*command, "--allow-same-name"), exit_code, fragment)
    if exit_code == 2:
        fleet = ["fleet", "create", "--name", name, "--coding-agent", "claude"]
        assert_refused(cafleet.run(*fleet), 2, fragment)
    assert registry.dump() == before


def test_the_same_name_on_request_is_not_what_is_refused(
    cafleet: Program, registry: Registry
) -> None:
    before = registry.dump()
    wishes = ["--name", "ann", "--description", "d", "--coding-agent", "claude", "hi"]
    refused = cafleet.run("member", "create", "--fleet-id", "1", "--allow-same-name", *wishes)
    assert refused.exit_code == 1
    assert "ann" not in refused.stderr
    assert registry.dump() == before


def test_long_names_of_old_databases_are_shown_cut(cafleet: Program, registry: Registry) -> None:
    long = "界" * 5_000
    registry.rows("UPDATE members SET name = ? WHERE member_id = 3", long)
    registry.rows("UPDATE fleets SET name = ?", "f" * 5_000)
    assert cafleet.run("member", "show", "3").ok().stdout == f"3 {'界' * 39}… active\n"
    assert f" {'界' * 39}… " in cafleet.run("member", "list", "1").ok().stdout
    assert f" {'f' * 79}… " in cafleet.run("fleet", "list").ok().stdout
    assert cafleet.run("member", "show", "3", "--json").json()["name"] == long
