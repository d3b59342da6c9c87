"""What mkdocs must be told to make a site of docs/: the list of pages, and where files outside of docs/ go.

The list of pages is docs/README.md, which a test holds complete: a paragraph that ends with a colon opens a section. The pages link to
files of the repository by ../NAME. Such files become part of the site, below repository/.
"""

import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(((?:\.\./)+)([\w./-]+)(#[\w-]+)?\)")


def outside(page: str, ups: str, path: str) -> str | None:
    """Returns the file of the repository that a page's link means; None if it lies in docs/."""
    target = PurePosixPath("docs", page).parent.joinpath(ups + path)
    parts: list[str] = []
    for part in target.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return None if parts[0] == "docs" else "/".join(parts)


def sections(text: str) -> list[dict[str, list[dict[str, str]]]]:
    """Returns the sections of an index, each with its pages, as mkdocs wants them."""
    found: list[dict[str, list[dict[str, str]]]] = []
    for line in text.splitlines():
        if heading := re.match(r"([A-Z][^(:]+?)(?: \(.*)?:$", line):
            found.append({heading[1]: []})
        elif entry := re.match(r"- \[(.+?)\]\(([\w./-]+\.md)\)", line):
            next(iter(found[-1].values())).append({entry[1]: entry[2].replace("../", "repository/")})
    return found


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    index = (Path(config.docs_dir) / "README.md").read_text()
    start = [{"Copse": "repository/README.md"}, {"Changelog": "repository/CHANGELOG.md"}, {"Documentation": "README.md"}]
    config.nav = [*start, *sections(index)]
    return config


def add(files: Files, config: MkDocsConfig, name: str) -> None:
    """Adds a file of the repository to the site, and the files that it links to."""
    uri = f"repository/{name}"
    if uri in files.src_uris or not (ROOT / name).is_file():
        return
    content = (ROOT / name).read_text()
    linked: list[str] = []

    def kept(match: re.Match) -> str:
        if match[2].startswith("docs/"):  # back into docs
            return f"{match[1]}(../{match[2][len('docs/'):]})"
        path = match[2].split("#")[0]
        linked.append(path)
        return match[0] if (ROOT / path).is_file() else match[1].strip("[]")  # a folder has no page

    if name.endswith(".md"):
        content = re.sub(r"(\[[^\]]+\])\((?![a-z]+:|#)([^)\s]+)\)", kept, content)
    files.append(File.generated(config, uri, content=content))
    for path in linked:
        add(files, config, path)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name in ("README.md", "CHANGELOG.md"):
        add(files, config, name)
    for file in list(files.documentation_pages()):
        if not file.src_uri.startswith("repository/"):
            for ups, path, _ in LINK.findall(Path(file.abs_src_path).read_text()):
                if name := outside(file.src_uri, ups, path):
                    add(files, config, name)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    def into_site(match: re.Match) -> str:
        name = outside(page.file.src_uri, match[1], match[2])
        up = "../" * page.file.src_uri.count("/")
        return match[0] if name is None else f"]({up}repository/{name}{match[3] or ''})"

    return markdown if page.file.src_uri.startswith("repository/") else LINK.sub(into_site, markdown)
