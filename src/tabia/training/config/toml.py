"""Configurations as TOML and as `key=value`; an unknown or renamed setting is refused with the right name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from tabia.core.errors import TabiaError, did_you_mean
from tabia.core.parsing import parse_toml
from tabia.core.text import printable, quote
from tabia.networks import NetworkConfig, presets
from tabia.training.config.schema import SECTIONS, Config
from tabia.training.errors import TrainingError

RENAMED = {
    "cycles": "iterations",
    "search.finish": "search.winning_moves_first",
    "search.considered": "search.considered_actions",
    "search.scale": "search.value_scale",
    "search.visit_offset": "search.maxvisit_init",
    "search.gumbel_noise": "search.gumbel_scale",
    "search.noise": "search.dirichlet_fraction",
    "search.noise_total": "search.dirichlet_total",
    "search.noise_alpha": "search.dirichlet_alpha",
    "search.full_share": "search.full_search_fraction",
    "selfplay.opened": "selfplay.opening_fraction",
    "selfplay.opening_among": "selfplay.opening_candidates",
    "selfplay.revisited": "selfplay.revisit_fraction",
    "selfplay.revisit_among": "selfplay.revisit_candidates",
    "selfplay.explore": "selfplay.epsilon",
    "selfplay.resign": "selfplay.resign_threshold",
    "selfplay.resign_checked": "selfplay.resign_disabled_fraction",
    "targets.search_share": "targets.search_value_weight",
    "targets.decay": "targets.td_lambda",
    "replay.sessions": "replay.iterations",
    "replay.start": "replay.min_positions",
    "learner.batch": "learner.batch_size",
    "learner.optimiser": "learner.optimizer",
    "learner.rate": "learner.learning_rate",
    "learner.schedule": "learner.learning_rate_schedule",
    "learner.rate_end": "learner.learning_rate_end",
    "learner.drops": "learner.learning_rate_drops",
    "learner.warm_up": "learner.warmup_steps",
    "learner.clip": "learner.gradient_clip",
    "learner.average": "learner.ema_decay",
    "learner.board_weight": "learner.final_position_weight",
    "network.last_board": "network.final_position",
    "gate.kind=share": "gate.kind=score",
    "s1-connect4": "sanz-villanueva-connect4",
    "s1-tictactoe": "sanz-villanueva-tictactoe",
    "s2-connect4": "wandhoven-connect4",
    "s3-chinese-checkers": "schulte-chinese-checkers",
    "s5-connect4": "glimmerfors-connect4",
}
"""Settings, values and recipes that had another name before Tabia 0.2."""

_DEFAULTS = {field.name: field.default for field in fields(Config)}
_TOP = [field.name for field in fields(Config) if field.name not in (*SECTIONS, "network", "schedule")]


def names() -> list[str]:
    """The dotted names of all settings."""
    sections = [f"{section}.{field.name}" for section, kind in SECTIONS.items() for field in fields(kind)]
    return [*_TOP, *sections, *(f"network.{field.name}" for field in fields(NetworkConfig))]


def unknown(what: str, name: str, known: Iterable[str]) -> TrainingError:
    """The error for an unknown name: what it is called now, or the nearest known one."""
    if name in RENAMED:
        return TrainingError(f"There is no {what} {quote(name)}. It is now called {quote(RENAMED[name])}.")
    return TrainingError(f"There is no {what} {quote(name)}. {did_you_mean(name, known)}")


def is_renamed(tables: Mapping[str, Any]) -> bool:
    """Whether nested tables use a name of before Tabia 0.2."""
    dotted = {f"{section}.{name}" for section, table in tables.items() if isinstance(table, Mapping) for name in table}
    return any(name in RENAMED and name not in names() for name in (*tables, *dotted))


def from_toml(text: str, source: str) -> Config:
    """The configuration in a TOML text; errors name the source."""
    try:
        return from_tables(parse_toml(text))
    except ValueError as error:
        raise TrainingError(f"{source} is not valid TOML: {printable(str(error))}.") from None
    except TabiaError as error:
        raise TrainingError(f"{source}: {error}") from None


def from_tables(tables: Mapping[str, Any]) -> Config:
    """The configuration in nested tables; settings that are missing keep their defaults."""
    known = [*_TOP, *SECTIONS, "network", "schedule"]
    for name in tables:
        if name not in known:
            raise unknown("setting", name, known)
    if not isinstance(tables.get("game"), str):
        raise TrainingError('A configuration must name its game, such as game = "connect4".')
    values = {name: _like(_DEFAULTS[name], tables[name]) for name in _TOP if name in tables}
    for section, kind in SECTIONS.items():
        values[section] = _section(section, kind, tables.get(section, {}))
    if "network" in tables:
        values["network"] = _network(tables["network"])
    values["schedule"] = _schedule(tables.get("schedule", {}))
    return Config(**values)


def to_tables(config: Config) -> dict[str, Any]:
    """The whole configuration as nested tables, defaults included."""
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
    """The configuration with `key=value` texts applied, as `--set` takes them; checked after the last one."""
    tables = to_tables(config)
    for text in assignments:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise TrainingError(f"--set {quote(text)} needs a name and a value, such as learner.learning_rate=0.001.")
        section, _, key = name.rpartition(".")
        if name == "network":
            tables["network"] = {"preset": value}
        elif name == "schedule":
            tables["schedule"] = _value(value)
        elif name not in names() and not (section == "network" and "preset" in tables["network"]):
            raise unknown("setting", name, names())
        elif section:
            tables[section][key] = _value(value)
        else:
            tables[key] = _value(value)
    return from_tables(tables)


def _value(text: str) -> Any:
    """A TOML value; anything else is a string."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def _section(section: str, kind: type[Any], table: Any) -> Any:
    if not isinstance(table, Mapping):
        raise TrainingError(f"[{section}] must be a table of names and values; got {quote(table)}.")
    known = {field.name: field for field in fields(kind)}
    for name, value in table.items():
        if name not in known:
            raise unknown("setting", f"{section}.{name}", [f"{section}.{field}" for field in known])
        if f"{section}.{name}={value}" in RENAMED:
            raise unknown("value", f"{section}.{name}={value}", ())
    return kind(**{name: _like(known[name].default, value) for name, value in table.items()})


def _network(table: Any) -> NetworkConfig:
    """A network's own settings, or a preset's name and options."""
    if not isinstance(table, Mapping):
        raise TrainingError(
            f'[network] must be a table of names and values, such as preset = "tower"; got {quote(table)}.'
        )
    options = {name: _frozen(value) for name, value in table.items() if name != "preset"}
    if "preset" not in table:
        return NetworkConfig.from_dict(options)
    if table["preset"] == "mlp" and isinstance(options.get("units"), tuple):
        return presets.mlp(*options.pop("units")).changed(**options)
    return presets.make(table["preset"], **options)


def _schedule(table: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(table, Mapping):
        raise TrainingError(f"[schedule] must be a table of names and steps; got {quote(table)}.")
    for name in table:
        if name not in names():
            raise unknown("setting", name, names())
    return tuple((name, _frozen(steps)) for name, steps in table.items())


def _like(default: Any, value: Any) -> Any:
    """An integer becomes a float where the default is one, and a list becomes a tuple."""
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
