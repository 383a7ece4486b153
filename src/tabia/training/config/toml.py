"""Configurations as TOML and as `key=value`, with a sentence for whatever is unknown or out of range."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from tabia.core.errors import TabiaError, did_you_mean
from tabia.core.parsing import parse_toml
from tabia.core.text import plain, printable, quote
from tabia.networks import NetworkConfig, presets
from tabia.training.config.schema import SECTIONS, Config
from tabia.training.errors import TrainingError

_DEFAULTS = {field.name: field.default for field in fields(Config)}
_TOP = [field.name for field in fields(Config) if field.name not in (*SECTIONS, "network", "schedule")]


def names() -> list[str]:
    """Every dotted name there is."""
    sections = [f"{section}.{field.name}" for section, kind in SECTIONS.items() for field in fields(kind)]
    return [*_TOP, *sections, *(f"network.{field.name}" for field in fields(NetworkConfig))]


def from_toml(text: str, source: str) -> Config:
    """The configuration in a text; errors name the source."""
    try:
        return from_tables(parse_toml(text))
    except ValueError as error:
        raise TrainingError(f"{source} is no TOML: {printable(str(error))}.") from None
    except TabiaError as error:
        raise TrainingError(f"{source}: {error}") from None


def from_tables(tables: Mapping[str, Any]) -> Config:
    """The configuration nested tables describe; what they leave out keeps its default."""
    known = [*_TOP, *SECTIONS, "network", "schedule"]
    for name in tables:
        if name not in known:
            raise TrainingError(f"There is no setting {quote(name)}. {did_you_mean(name, known)}")
    if not isinstance(tables.get("game"), str):
        raise TrainingError('A configuration names its game: game = "connect4".')
    values = {name: _like(_DEFAULTS[name], tables[name]) for name in _TOP if name in tables}
    for section, kind in SECTIONS.items():
        values[section] = _section(section, kind, tables.get(section, {}))
    if "network" in tables:
        values["network"] = _network(tables["network"])
    values["schedule"] = _schedule(tables.get("schedule", {}))
    return Config(**values)


def to_tables(config: Config) -> dict[str, Any]:
    """The whole configuration as nested tables, every value written out."""
    return {**asdict(config), "network": config.network.to_dict(), "schedule": dict(config.schedule)}


def to_toml(config: Config) -> str:
    """The whole configuration as TOML."""
    tables = to_tables(config)
    lines = [f"{name} = {_toml(tables[name])}" for name in _TOP]
    for section in (*SECTIONS, "network"):
        lines += ["", f"[{section}]", *(f"{name} = {_toml(value)}" for name, value in tables[section].items())]
    if config.schedule:
        lines += ["", "[schedule]", *(f'"{name}" = {_toml(steps)}' for name, steps in config.schedule)]
    return "\n".join(lines) + "\n"


def with_assignments(config: Config, assignments: Iterable[str]) -> Config:
    """The configuration with `key=value` texts applied, as `--set` takes them; checked once all are."""
    tables = to_tables(config)
    for text in assignments:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise TrainingError(
                f"--set {quote(text)}: a name and a value are needed, as in learner.learning_rate=0.001."
            )
        section, _, key = name.rpartition(".")
        if name == "network":
            tables["network"] = {"preset": value}
        elif name == "schedule":
            tables["schedule"] = _value(value)
        elif name not in names() and not (section == "network" and "preset" in tables["network"]):
            raise TrainingError(f"There is no setting {quote(name)}. {did_you_mean(name, names())}")
        elif section:
            tables[section][key] = _value(value)
        else:
            tables[key] = _value(value)
    return from_tables(tables)


def _value(text: str) -> Any:
    """A TOML value; what is none is a word."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def _section(section: str, kind: type[Any], table: Any) -> Any:
    if not isinstance(table, Mapping):
        raise TrainingError(f"[{section}] is a table of names and values; got {quote(table)}.")
    known = {field.name: field for field in fields(kind)}
    for name in table:
        if name not in known:
            raise TrainingError(f"There is no setting {section}.{plain(name)}. {did_you_mean(name, known)}")
    return kind(**{name: _like(known[name].default, value) for name, value in table.items()})


def _network(table: Any) -> NetworkConfig:
    """A network's own settings, or a preset's name and options."""
    if not isinstance(table, Mapping):
        raise TrainingError(
            f'[network] is a table of names and values, such as preset = "tower" and blocks = 5; got {quote(table)}.'
        )
    options = {name: _frozen(value) for name, value in table.items() if name != "preset"}
    if "preset" not in table:
        return NetworkConfig.from_dict(options)
    if table["preset"] == "mlp" and isinstance(options.get("units"), tuple):
        return presets.mlp(*options.pop("units")).changed(**options)
    return presets.make(table["preset"], **options)


def _schedule(table: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(table, Mapping):
        raise TrainingError(f"[schedule] is a table of names and steps; got {quote(table)}.")
    for name in table:
        if name not in names():
            raise TrainingError(f"There is no setting {quote(name)} to schedule. {did_you_mean(name, names())}")
    return tuple((name, _frozen(steps)) for name, steps in table.items())


def _like(default: Any, value: Any) -> Any:
    """A whole number where a float is wanted is a float; a list is a tuple."""
    if isinstance(default, float) and type(value) is int and abs(value) < 2**53:
        return float(value)
    return _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
