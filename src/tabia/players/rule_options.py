"""Selection rules as options of players: `rule=puct,c=2`. The options are numbers and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, replace
from typing import Any

from tabia.players.spec import Options
from tabia.search import RULES, Rule
from tabia.search.rules import UNTRIED_VALUES

Defaults = Mapping[type[Rule], Rule]
"""Rules with other defaults in a player than in `tabia.search`."""

_LARGEST = 1e6
_KINDS = ("int", "float", "bool", "float | None", "UntriedValue")  # annotations of the fields that are options


def name_of(rule: Rule) -> str:
    """The name of a rule in RULES."""
    return next(name for name, kind in RULES.items() if kind is type(rule))


def read_rule(options: Options, default: Rule, defaults: Defaults) -> Rule:
    """The rule that the options name; options of other rules are refused."""
    kind = RULES[options.word("rule", name_of(default), list(RULES))]
    base = default if kind is type(default) else defaults.get(kind, kind())
    own = {one.name: _read(options, one, getattr(base, one.name)) for one in _numbers(kind)}
    for name in {one.name for other in RULES.values() for one in _numbers(other)} - set(own):
        owners = [f"rule={rule}" for rule, other in RULES.items() if name in {one.name for one in _numbers(other)}]
        options.only_with(name, " and ".join(owners))
    return replace(base, **own)


def write_rule(rule: Rule, default: Rule, defaults: Defaults) -> dict[str, Any]:
    """The options that `read_rule` turns back into the rule."""
    base = default if type(rule) is type(default) else defaults.get(type(rule), type(rule)())
    changed = {one.name: getattr(rule, one.name) for one in _numbers(type(rule))}
    changed = {name: _written(value) for name, value in changed.items() if value != getattr(base, name)}
    return ({} if type(rule) is type(default) else {"rule": name_of(rule)}) | changed


def _numbers(kind: type[Rule]) -> list[Field[Any]]:
    return [one for one in fields(kind) if one.type in _KINDS]


def _read(options: Options, one: Field[Any], default: Any) -> Any:
    if one.type == "bool":
        return options.flag(one.name, default)
    if one.type == "UntriedValue":
        return UNTRIED_VALUES[options.word(one.name, _written(default), list(UNTRIED_VALUES))]
    if one.type == "int":
        return options.whole(one.name, default)
    return options.number(one.name, default, low=0.0, high=_LARGEST)


def _written(value: Any) -> Any:
    """The value of an option in a spec: an untried value by its name, numbers as they are."""
    return next((name for name, known in UNTRIED_VALUES.items() if known is value), value)
