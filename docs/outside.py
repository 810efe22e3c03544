"""Pages and pictures that live outside docs/ and are part of the site: results, reliability, changelog.

On GitHub their links work as they are; here they are rewritten to the places in the site.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"RESULTS.md": "results/index.md", "RELIABILITY.md": "results/reliability.md", "CHANGELOG.md": "changelog.md"}
"""Where a page of the project's folder goes."""
PICTURES = "results/pictures"


def on_files(files: Files, config: Any) -> Files:
    """Called by mkdocs when it has listed docs/."""
    for source, place in PAGES.items():
        files.append(File.generated(config, place, content=moved((ROOT / source).read_text(encoding="utf-8"), place)))
    for picture in sorted((ROOT / "benchmarks" / "results").glob("*.png")):
        files.append(File.generated(config, f"{PICTURES}/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for every page: those of results link to pictures and to RESULTS.md outside docs/."""
    return re.sub(
        r"\]\((?:\.\./)+(?=RESULTS|RELIABILITY|CHANGELOG|benchmarks/results)([^)]+)\)",
        _link(page.file.src_uri),
        markdown,
    )


def moved(text: str, place: str) -> str:
    """The text of a page of the project's folder, with its links as they are from its place in the site."""
    text = re.sub(r"\]\(docs/([^)]+)\)", lambda match: f"]({_relative(match[1], place)})", text)
    return re.sub(r"\]\((?=RESULTS|RELIABILITY|CHANGELOG|benchmarks/results)([^)]+)\)", _link(place), text)


def _link(place: str) -> Any:
    def link(match: re.Match[str]) -> str:
        target = match[1].replace("benchmarks/results/", f"{PICTURES}/")
        return f"]({_relative(PAGES.get(target, target), place)})"

    return link


def _relative(target: str, place: str) -> str:
    """A path of the site as a page at ``place`` has to name it."""
    return "../" * place.count("/") + target
