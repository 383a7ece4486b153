"""Text from outside: nothing a terminal, Markdown or XML would obey is left in it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabia.core import trust
from tabia.core.text import is_printable, markdown, markdown_block, plain, printable, quote, xml
from tabia.games import drawing
from tabia.search import picture

ANY = st.text(st.characters(), max_size=60)


@given(ANY)
def test_printable_text_stays_and_the_rest_is_escaped(text: str) -> None:
    safe = printable(text)
    assert is_printable(safe) and safe.encode().decode() == safe
    assert not set(safe) & {chr(code) for code in (*range(32), *range(127, 160))}
    assert safe == text or not is_printable(text)


@given(st.one_of(ANY, st.text("x", min_size=500), st.integers(), st.just(10**6000), st.lists(ANY)))
def test_quotes_are_short_and_printable(value: object) -> None:
    for shown in (quote(value), plain(value)):
        assert is_printable(shown) and len(shown) <= 4 * 80


@given(ANY)
def test_any_text_makes_sound_xml(text: str) -> None:
    root = ET.fromstring(f'<a b="{xml(text)}">{xml(text)}</a>')
    assert (root.text or "") == printable(text) and root.attrib["b"] == printable(text)


@given(ANY)
def test_any_text_makes_sound_pictures(text: str) -> None:
    ET.fromstring(drawing.text_svg(text))
    branch = picture.Branch(text, 1, 0.0, 0.5, True)
    ET.fromstring(picture.svg(branch))
    label = picture.dot(branch).splitlines()[2]
    assert label.count('"') - label.count('\\"') == 2


@given(ANY)
def test_markdown_shows_text_literally(text: str) -> None:
    safe = markdown(text)
    assert "<" not in safe and ">" not in safe
    for sign in "`*[]|":
        assert all(safe[at - 1] == "\\" for at, letter in enumerate(safe) if letter == sign)
    fence = markdown_block(text).split("\n")[0]
    assert set(fence) == {"`"} and not any(line.strip() == fence for line in markdown_block(text).split("\n")[1:-1])


@pytest.mark.parametrize(
    "name", ["a.py:B", "a.PY:B", "a.py :B", "a.py", "dir.py/x.py:B:size=3", "az:a.py,c=1", "a.pyw:B"]
)
def test_names_of_code_are_recognized(name: str) -> None:
    assert trust.names_code(name)


@pytest.mark.parametrize("name", ["connect4", "az:runs/pyramid@best", "az:x.pyz", "connect:rows=6", "human", ""])
def test_names_of_data_are_not_taken_for_code(name: str) -> None:
    assert not trust.names_code(name)


def test_only_the_code_file_that_was_named_may_run() -> None:
    trust.check_data("a.py:B:size=3", source="x", fix="y", named=["a.py:B"])
    for named in ([], ["b.py:B"], ["x/a.py:B"], ["random"]):
        with pytest.raises(trust.UntrustedCode, match=r"x names 'a.py:B'.*y"):
            trust.check_data("a.py:B", source="x", fix="y", named=named)
