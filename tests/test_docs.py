"""What the documentation says exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from suites.cases import operators
from suites.cases.identifier import parse
from suites.requirement import GROUPS, catalogue, markdown, proofs

ROOT = Path(__file__).resolve().parents[1]


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


def test_minimal_cases_of_findings_are_in_the_suite() -> None:
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    ids = re.findall(r"^\| [A-Z]+-\d+ \|[^\n]*?\| `([^`]+)` \|", text, re.MULTILINE)
    assert len(ids) > 80
    of_other_suites = [case_id for case_id in ids if case_id.startswith("suites/")]
    unlisted = [case_id for case_id in ids if case_id not in operators.ALL and case_id not in of_other_suites]
    assert len(unlisted) <= 10
    assert all(parse(case_id).model.graph.node for case_id in unlisted)  # --case takes these too
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *of_other_suites]
    collected = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert collected.returncode == 0, collected.stderr


def test_options_of_the_readme_exist(pytestconfig: pytest.Config) -> None:
    known = set(re.findall(r'"(--[a-z-]+)"', (ROOT / "suites" / "options.py").read_text(encoding="utf-8")))
    own = {"--junit-xml", "--collect-only", "--no-deps"}  # pytest's and pip's
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert used <= known | own


def test_every_requirement_has_a_test_and_every_test_a_requirement() -> None:
    used: set[str] = set()
    for path in (ROOT / "suites").glob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        named = re.findall(r'^@requirement\("([^"]+)"\)', text, re.MULTILINE)
        assert len(named) == len(re.findall(r"^def test_", text, re.MULTILINE)), path.name
        used.update(named)
    assert used == catalogue().keys()
    assert all(entry["level"] in ("mandatory", "optional") and entry["source"] for entry in catalogue().values())


def test_page_of_requirements_is_up_to_date() -> None:
    page = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    assert page == markdown(proofs()) + "\n"
    assert all(any(name.startswith(f"{prefix}-") for prefix in GROUPS) for name in catalogue())
    assert len(catalogue()) >= 100
