"""Reference pages from the code: a line `<!-- generated: NAME -->` in a page becomes what NAME describes.

The tables are made when the site is built, so the code is the only place where settings, commands, recipes and
presets are documented. `python docs/_ext/generated.py settings` prints one of them.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

PLACE = re.compile(r"^<!-- generated: (\S+) -->$", re.MULTILINE)
EXAMPLES = re.compile(r"(?:^  .*\n?)+", re.MULTILINE)
PACKAGES = ("games", "search", "solvers", "networks", "players", "evaluation", "training", "core")


def settings() -> str:
    """Every training setting, section by section, from the configuration's dataclasses."""
    from tabia.training import Config

    config = Config(game="connect4")
    sections = [field for field in dataclasses.fields(config) if dataclasses.is_dataclass(getattr(config, field.name))]
    plain = [field.name for field in dataclasses.fields(config) if field not in sections]
    text = ["## The run\n", _fields(Config, plain, config)]
    for section in sections:
        settings = getattr(config, section.name)
        names = [field.name for field in dataclasses.fields(settings)]
        about = inspect.getdoc(type(settings)) or ""
        text += [f"## `[{section.name}]`\n", re.sub(r"^\[\w+\]\s*", "", about.split("\n\n")[0]), "\n"]
        text += [_fields(type(settings), names, settings, f"{section.name}.")]
    return "\n".join(text)


def network() -> str:
    """Every field of a network's configuration."""
    from tabia.networks import NetworkConfig

    return _fields(NetworkConfig, [field.name for field in dataclasses.fields(NetworkConfig)], NetworkConfig())


def commands() -> str:
    """Every command with its arguments and options, from the command line itself."""
    import click
    import typer

    from tabia.cli.main import app

    def described(name: str, command: Any) -> Iterator[str]:
        if getattr(command, "commands", None):
            context = click.Context(command, info_name=name)
            for sub in sorted(command.list_commands(context)):
                yield from described(f"{name} {sub}", command.get_command(context, sub))
            if not command.params or name == "tabia" or not command.invoke_without_command:
                return
        if not command.hidden:
            yield f"## `{name}`\n\n{_plain(command.help or '')}\n\n{_parameters(command.params)}"

    return "\n".join(described("tabia", typer.main.get_command(app)))


def recipes() -> str:
    """Every recipe with its game, its device and what to expect of it."""
    from tabia.training.config import recipes

    rows = []
    for name in recipes.names():
        recipe = recipes.load(name)
        variants = f" Variants: {', '.join(f'`@{variant}`' for variant in recipe.variants)}." if recipe.variants else ""
        rows.append((f"`{name}`", f"`{recipe.game}`", recipe.device, recipe.about, recipe.expect + variants))
    return _table(("recipe", "game", "device", "what it is", "what to expect"), rows)


def presets() -> str:
    """Every network preset with its parameters."""
    from tabia.networks import presets

    rows = []
    for name in presets.PRESETS:
        preset = presets.PRESETS[name]
        parameters = inspect.signature(preset).replace(return_annotation=inspect.Signature.empty)
        rows.append((f"`{name}{parameters}`", _summary(preset)))
    return _table(("preset", "what it is"), rows)


def api() -> str:
    """The public names of every package: what its front page exports."""
    return "\n".join(_package(package) for package in PACKAGES)


def _package(package: str) -> str:
    module = importlib.import_module(f"tabia.{package}")
    exported = sorted(_exported(module), key=lambda name: (name.lower(), name))
    lines = [f"## `tabia.{package}`\n", (inspect.getdoc(module) or "").split("\n\n")[0], ""]
    for name in exported:
        lines += ["```{eval-rst}", *_directive(f"tabia.{package}.{name}", getattr(module, name)), "```", ""]
    return "\n".join(lines)


def _exported(module: Any) -> Iterator[str]:
    """The names in a package's `__all__`, or those it imports as themselves (`from x import Y as Y`)."""
    yield from getattr(module, "__all__", ())
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and not hasattr(module, "__all__"):
            for alias in node.names:
                value = getattr(module, alias.asname or alias.name)
                if alias.asname == alias.name and not inspect.ismodule(value):
                    yield alias.name


def _directive(name: str, value: Any) -> list[str]:
    """How Sphinx documents a name; for tables and type aliases only the name, as their docstrings are their type's."""
    if inspect.isclass(value):
        return [f".. autoclass:: {name}", "   :members:", "   :undoc-members:"]
    return [f".. autofunction:: {name}" if inspect.isroutine(value) else f".. py:data:: {name}"]


def _fields(owner: type, names: Sequence[str], values: Any, prefix: str = "") -> str:
    about = {name: text for parent in reversed(owner.__mro__[:-1]) for name, text in _attribute_docs(parent).items()}
    fields = {field.name: field for field in dataclasses.fields(owner)}
    rows = [
        (f"`{prefix}{name}`", _default(fields[name], values), _allowed(fields[name]), about.get(name, ""))
        for name in names
    ]
    return _table(("setting", "default", "allowed", "meaning"), rows)


def _attribute_docs(owner: type) -> dict[str, str]:
    """The strings under a class's attributes, which Python itself drops."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0].body  # type: ignore[attr-defined]
    except (OSError, TypeError):
        return {}
    docs = {}
    for field, text in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            docs[field.target.id] = inspect.cleandoc(text.value.value)  # type: ignore[union-attr, arg-type]
    return docs


def _allowed(field: dataclasses.Field[Any]) -> str:
    if "words" in field.metadata:
        return ", ".join(f"`{word}`" for word in field.metadata["words"])
    if "low" in field.metadata:
        return f"{field.metadata['low']:,} to {field.metadata['high']:,.10g}"
    return {"bool": "`true`, `false`"}.get(str(field.type), "")


def _default(field: dataclasses.Field[Any], values: Any) -> str:
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return "required"
    value = getattr(values, field.name)
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"{value:,}" if isinstance(value, int) else f"`{value!r}`" if value not in ("", ()) else "empty"


def _parameters(params: Sequence[Any]) -> str:
    rows = []
    for param in params:
        if param.name == "help" or getattr(param, "hidden", False):
            continue
        names = ", ".join(f"`{name}`" for name in param.opts) if param.param_type_name == "option" else ""
        names = names or f"`{param.metavar or param.name.upper()}`"
        value = param.default
        unset = value is None or value is False or callable(value) or "UNSET" in repr(value).upper()
        default = "" if unset else f"`{value}`"
        rows.append((names, default, _plain(getattr(param, "help", None) or "")))
    return _table(("argument or option", "default", "meaning"), rows) if rows else ""


def _plain(text: str) -> str:
    """Help text without Rich's markup: what is bold or an indented example becomes code."""
    text = inspect.cleandoc(text).replace("\f", "").replace("\b", "")
    text = re.sub(r"\[(?:bold|cyan|dim)\](.*?)\[/(?:\w+)?\]", r"`\1`", text)
    return EXAMPLES.sub(lambda found: f"\n```\n{textwrap.dedent(found[0]).replace('`', '').rstrip()}\n```\n", text)


def _summary(thing: Callable[..., Any]) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), line(["---"] * len(head)), *map(line, rows)]) + "\n"


GENERATED: dict[str, Callable[[], str]] = {
    "settings": settings,
    "network": network,
    "commands": commands,
    "recipes": recipes,
    "presets": presets,
    "api": api,
}


def fill(app: Any, name: str, source: list[str]) -> None:
    source[0] = PLACE.sub(lambda found: GENERATED[found[1]](), source[0])


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    print("\n".join(GENERATED[name]() for name in sys.argv[1:]))
