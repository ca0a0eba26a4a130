"""The cases of the whole project through the package: one semantics, whatever the language."""

from __future__ import annotations

from pathlib import Path

import pytest

import celador

BROKEN = """\
name: a-small-refund-is-blocked
requirements: []
about: It is not.
manifest: {files: [shop.yaml], agent: desk}
call: {op: before, fn: get_order, args: {order_id: o1}}
expect: {decision: block}
"""


@pytest.mark.parametrize(
    ("folder", "least"),
    [("policies", 100), ("tests/data/cases/spec", 193), ("tests/data/cases/own", 50), ("examples", 20)],
)
def test_all_cases_pass(root: Path, folder: str, least: int) -> None:
    report = celador.test(root / folder)
    assert report, str(report)
    assert report.passed >= least and report.failed == 0
    assert str(report) == f"{report.passed} passed, 0 failed"


def test_coverage_and_explanations(root: Path) -> None:
    report = celador.test(root / "tests/data/coverage/cases", coverage=True, explain=True)
    assert report and report.coverage is not None
    shares = report.coverage["shares"]
    assert isinstance(shares, dict) and shares["reached"] == {"seen": 6, "all": 6}
    for result in report.results:
        (operation,) = result.explained
        assert operation["agent"] == "shop/clerk" and operation["steps"]
    plain = celador.test(root / "tests/data/coverage/cases")
    assert plain.coverage is None and all(not result.explained for result in plain.results)


def test_a_case_that_fails(tmp_path: Path, manifests: Path) -> None:
    case = manifests.parent / "a-small-refund-is-blocked.yaml"
    case.write_text(BROKEN)
    report = celador.test(case)
    assert not report and (report.passed, report.failed) == (0, 1)
    (result,) = report.results
    assert (result.name, result.about, result.passed) == ("a-small-refund-is-blocked", "It is not.", False)
    assert result.failure is not None and "block" in result.failure and "allow" in result.failure
    assert str(report).endswith("0 passed, 1 failed")


def test_the_plugin(pytester: pytest.Pytester, manifests: Path) -> None:
    folder = pytester.path / "cases"
    folder.mkdir()
    (folder / "shop.yaml").write_text(manifests.read_text())
    (folder / "a-small-refund-is-blocked.yaml").write_text(BROKEN)
    (folder / "a-small-refund-is-allowed.yaml").write_text(BROKEN.replace("is-blocked", "is-allowed").replace("decision: block", "decision: allow"))
    (folder / "other.yaml").write_text("a: 1\n")
    (folder / "broken.yaml").write_text("name: x\nexpect: {decision: [\n")
    result = pytester.runpytest_inprocess("-v")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*a-small-refund-is-allowed PASSED*"])
    result.stdout.fnmatch_lines(["*expected*"])
    pytester.makeini("[pytest]\ncelador_cases = nothing/*.yaml\n")
    assert pytester.runpytest_inprocess().ret == pytest.ExitCode.NO_TESTS_COLLECTED
