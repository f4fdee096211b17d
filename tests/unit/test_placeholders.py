"""Filling in a spawn prompt: four names and doubled braces, and nothing is evaluated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.errors import UsageError
from cafleet.operations.placeholders import NAMES, fill

VALUES = {
    "fleet_id": 1,
    "member_id": "{fleet_id}",
    "director_member_id": "}}",
    "coding_agent": "claude",
}

PIECES = st.one_of(
    st.text(st.characters(blacklist_characters="{}"), min_size=1, max_size=8).map(
        lambda text: (text, text)
    ),
    st.sampled_from(NAMES).map(lambda name: (f"{{{name}}}", str(VALUES[name]))),
    st.sampled_from([("{{", "{"), ("}}", "}")]),
)


@given(st.lists(PIECES))
def test_every_piece_is_replaced_where_it_stands(pieces: list[tuple[str, str]]) -> None:
    prompt = "".join(piece for piece, _ in pieces)
    assert fill(prompt, VALUES) == "".join(filled for _, filled in pieces)


@given(st.lists(st.sampled_from(["{", "}", "{{", "}}", "{member_id}", "a", " ", "{fleet_id"])))
def test_a_prompt_is_filled_exactly_as_a_reader_from_the_left_would(parts: list[str]) -> None:
    prompt = "".join(parts)
    expected = read_from_the_left(prompt)
    if expected is None:
        with pytest.raises(UsageError):
            fill(prompt, VALUES)
    else:
        assert fill(prompt, VALUES) == expected


def read_from_the_left(prompt: str) -> str | None:
    filled, rest = "", prompt
    while rest:
        if rest.startswith(("{{", "}}")):
            filled, rest = filled + rest[0], rest[2:]
        elif rest[0] == "{":
            name, closed, rest = rest[1:].partition("}")
            if not closed or name not in VALUES:
                return None
            filled += str(VALUES[name])
        elif rest[0] == "}":
            return None
        else:
            filled, rest = filled + rest[0], rest[1:]
    return filled


@pytest.mark.parametrize(
    ("prompt", "fragment"),
    [
        ('{"a": 1}', 'unknown placeholder {"a": 1}'),
        ("{}", "unknown placeholder {}"),
        ("{0}", "unknown placeholder {0}"),
        ("{fleet_id!r}", "unknown placeholder {fleet_id!r}"),
        ("{fleet_id:>10}", "unknown placeholder {fleet_id:>10}"),
        ("{member_id.__class__}", "unknown placeholder {member_id.__class__}"),
        ("{member_id[0]}", "unknown placeholder {member_id[0]}"),
        ("{ fleet_id }", "unknown placeholder { fleet_id }"),
        ("{Fleet_id}", "unknown placeholder {Fleet_id}"),
        ("{unknown}", "unknown placeholder {unknown}"),
        ("{" + "x" * 100 + "}", "unknown placeholder {" + "x" * 59 + "…}"),
        ("{fleet_id:{member_id}}", "single { at character 1"),
        ("{fleet_id", "single { at character 1"),
        ("ab}", "single } at character 3"),
        ("{{x}} {fleet_id}}}}", "single } at character 19"),
        ("{{{", "single { at character 3"),
    ],
)
def test_what_is_no_placeholder_is_named(prompt: str, fragment: str) -> None:
    with pytest.raises(UsageError) as refused:
        fill(prompt, VALUES)
    assert fragment in str(refused.value)


def test_doubled_braces_next_to_a_placeholder() -> None:
    assert fill("{{x}} {{{fleet_id}}} {fleet_id}}}", VALUES) == "{x} {1} 1}"


def test_what_is_put_in_is_not_read_again() -> None:
    assert fill("{member_id}{director_member_id}", VALUES) == "{fleet_id}}}"
