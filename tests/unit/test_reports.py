"""What a loop says, on a terminal or into its log."""

from __future__ import annotations

import pytest

from cafleet.courier.reports import Reports


def test_a_report_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    reports = Reports()
    reports.say("a\u200bb\x1b[2J\nc")
    reports.trouble("x", "d\u202ee")
    said = capsys.readouterr()
    assert said.out.endswith(" a\\u200bb\\x1b[2J\\x0ac\n")
    assert said.err.endswith(" d\\u202ee\n")
    assert (said.out + said.err).count("\n") == 2
