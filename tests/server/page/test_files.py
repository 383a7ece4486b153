"""The page's files: small, complete in the offline shell, with licenses, without inline code."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "src" / "tabia" / "server" / "page"


def test_scripts_are_under_150_kb_compressed() -> None:
    scripts = [path.read_bytes() for path in sorted(PAGE.rglob("*.js"))]
    assert sum(len(gzip.compress(script)) for script in scripts) < 150_000


def test_the_offline_shell_lists_every_file() -> None:
    listed = set(re.findall(r'"/assets/([^"]+)"', (PAGE / "sw.js").read_text()))
    kinds = (".js", ".css", ".svg", ".png", ".webmanifest")
    files = {path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.suffix in kinds}
    assert listed == files - {"sw.js"}


def test_every_import_names_a_file() -> None:
    for script in PAGE.rglob("*.js"):
        for name in re.findall(r'(?:\bfrom|\bimport)\s*\(?"([^"\s]+)"', script.read_text()):
            assert name.startswith("."), f"{script.name} imports {name}: no build step resolves that"
            assert (script.parent / name).is_file(), f"{script.name} imports {name}"


def test_vendored_libraries_have_their_license() -> None:
    for folder in (PAGE / "vendor").iterdir():
        if folder.is_dir():
            assert (
                "ermission" in (folder / "LICENSE").read_text() or "Redistribution" in (folder / "LICENSE").read_text()
            )


def test_there_is_no_inline_code_or_style() -> None:
    for file in [PAGE / "index.html", *PAGE.glob("*.js"), *PAGE.glob("views/*.js"), *PAGE.glob("components/*.js")]:
        text = file.read_text()
        assert not re.search(r"\sstyle=[\"$]", text), f"{file.name} has an inline style"
        assert not re.search(r"<script(?![^>]*src=)|\son[a-z]+=\"", text), f"{file.name} has inline code"
