"""Settings: every invalid value is refused with its dotted name, what was expected and what came."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tabia.core.errors import TabiaError
from tabia.core.settings import bounded, check, check_names, integers, one_of


@dataclass(frozen=True, kw_only=True)
class Settings:
    count: int = bounded(3, 1, 10)
    weight: float = bounded(0.5, 0.0, 1.0)
    dropout: float = bounded(0.0, 0.0, 1.0, open_end=True)
    rule: str = one_of("gumbel", "puct")
    widths: tuple[int, ...] = integers(1, 100, longest=2)
    active: bool = False
    name: str = ""
    players: tuple[str, ...] = ()


def test_defaults_and_limits_are_valid() -> None:
    for settings in (
        Settings(),
        Settings(count=10, weight=1, dropout=0.999, rule="puct", widths=(1, 100), players=("random",)),
    ):
        check(settings, error=TabiaError)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"count": 11}, "some.count is a whole number from 1 to 10; got 11."),
        ({"count": 2.0}, "some.count is a whole number from 1 to 10; got 2.0."),
        ({"count": True}, "some.count is a whole number from 1 to 10; got True."),
        ({"weight": float("nan")}, "some.weight is a number from 0 to 1; got nan."),
        ({"weight": "1"}, "some.weight is a number from 0 to 1; got '1'."),
        ({"dropout": 1.0}, "some.dropout is a number at least 0 and less than 1; got 1.0."),
        ({"rule": "gumble"}, "some.rule cannot be 'gumble'. Did you mean gumbel?"),
        ({"rule": ["gumbel"]}, "some.rule cannot be ['gumbel']. Did you mean gumbel?"),
        ({"widths": (1, 2, 3)}, "some.widths is a list of at most 2 whole numbers from 1 to 100; got [1, 2, 3]."),
        ({"widths": (1, "2")}, "some.widths is a list of at most 2 whole numbers from 1 to 100; got [1, '2']."),
        ({"widths": 7}, "some.widths is a list of at most 2 whole numbers from 1 to 100; got 7."),
        ({"active": 1}, "some.active is true or false; got 1."),
        ({"name": 1}, "some.name is a string; got 1."),
        ({"players": ("a", 1)}, "some.players is a list of strings; got ('a', 1)."),
        ({"name": "a\x1b[0m"}, r"some.name contains control characters: 'a\x1b[0m'."),
    ],
)
def test_an_invalid_value_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(TabiaError) as caught:
        check(replace(Settings(), **changes), section="some", error=TabiaError)
    assert str(caught.value) == sentence


def test_an_unknown_name_is_refused() -> None:
    check_names(["count", "rule"], Settings, error=TabiaError)
    with pytest.raises(TabiaError, match=r"There is no setting some\.cont\. Did you mean count\?"):
        check_names(["cont"], Settings, section="some", error=TabiaError)
