"""The documents as a site: every page is in it and can be searched, and no link or anchor leads nowhere."""

import json
import shutil

import pytest

from copse import paths

MKDOCS = paths.ROOT / "build" / "site-tools" / "bin" / "mkdocs"  # make setup
PARTS = ("docs", "packaging", "examples", "include", "faces/python", "mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE")


@pytest.fixture
def site(run, tmp_path):
    """Returns a function that builds the site of a copy of the documents."""
    assert MKDOCS.exists(), "run: make setup"
    copied = tmp_path / "copy"
    for part in PARTS:
        (copied / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (paths.ROOT / part).is_dir() else shutil.copy)(paths.ROOT / part, copied / part)
    return copied, lambda: run([MKDOCS, "build", "--strict", "-f", copied / "mkdocs.yml", "-d", tmp_path / "site"])


def test_every_page_is_in_it_and_can_be_found(site, tmp_path):
    copied, build = site
    done = build()
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(copied / "docs").with_suffix(".html") for path in (copied / "docs").rglob("*.md")}
    made = {path.relative_to(tmp_path / "site") for path in (tmp_path / "site").rglob("*.html")}
    assert {page for page in pages if page.name != "README.html"} <= made
    entries = json.loads((tmp_path / "site/search/search_index.json").read_text())["docs"]
    assert any("COPSE_LEARN" in entry["text"] for entry in entries)
    front = (tmp_path / "site/index.html").read_text()
    assert "Installing" in front and "The shared heap" in front and "repository/index.html" in front


@pytest.mark.full
@pytest.mark.parametrize("page, text, said", [
    ("docs/tuning.md", "[gone](gone.md)", "gone.md"),
    ("docs/tuning.md", "[gone](tuning.md#no-such-part)", "no-such-part"),
    ("README.md", "[gone](docs/tuning.md#no-such-part)", "no-such-part"),
    ("docs/new.md", "# New", "new.md"),
])  # fmt: skip
def test_a_link_that_leads_nowhere_is_found(site, page, text, said):
    copied, build = site
    with (copied / page).open("a") as file:
        file.write(f"\n{text}\n")
    done = build()
    assert done.returncode != 0 and said in done.stdout + done.stderr
