"""The user's code as a specification names it: which folder, and is the script in it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from runner.core.problems import Problem, found_text

NEAR_NAMES = 3
SCRIPT_LIMIT_BYTES = 4 * 1024 * 1024  # a larger one is not looked into


@dataclass(frozen=True)
class FoundScript:
    """The entry script inside the code."""

    path: str  # relative, with /
    warnings: tuple[str, ...]


def code_folder(spec: dict[str, Any]) -> str | None:
    """Return the folder that the specification names; None: it brings no code."""
    if spec["kind"] != "parallel_run_step":
        return spec.get("working_directory")
    if spec.get("source_directory"):
        return str(spec["source_directory"])
    return str(Path(spec["entry_script"]).parent)


def find_script(entry_script: str, code: Path, names: list[str]) -> FoundScript | Problem:
    """Return where ``entry_script`` lies among the files ``names`` of ``code``.

    ``dir/x.py``, the dotted ``pkg.main``, and a path whose last part stands alone
    at the top (the folder of the script was taken) are found.
    """
    known = set(names)
    wanted = entry_script.removeprefix("./")
    for path in (wanted, f"{wanted.replace('.', '/')}.py", Path(wanted).name):
        if path in known:
            return FoundScript(path, tuple(_script_warnings(code / path)))
    scripts = [name for name in names if name.endswith(".py")]
    near = get_close_matches(Path(wanted).name, scripts, n=NEAR_NAMES, cutoff=0.5)
    hint = f"; near names: {', '.join(near)}" if near else _what_there_is(scripts)
    return Problem("entry_script", f"no such file in the code{hint}", found_text(entry_script))


def _what_there_is(scripts: list[str]) -> str:
    if not scripts:
        return ", which has no .py file"
    shown = ", ".join(sorted(scripts)[:5])
    return f"; it has {shown}{' …' if len(scripts) > 5 else ''}"


def _script_warnings(script: Path) -> list[str]:
    if script.suffix != ".py" or script.stat().st_size > SCRIPT_LIMIT_BYTES:
        return []
    try:
        tree = ast.parse(script.read_bytes())
    except SyntaxError as error:
        return [f"{script.name} has a syntax error in line {error.lineno}: {error.msg}"]
    except (ValueError, RecursionError, MemoryError):
        return []
    if _defines_run(tree):
        return []
    return [
        f"{script.name} defines no run() at its top level; unless it is imported, the job fails"
    ]


def _defines_run(tree: ast.Module) -> bool:
    for node in tree.body:
        match node:
            case ast.FunctionDef(name="run") | ast.AsyncFunctionDef(name="run"):
                return True
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                if any((one.asname or one.name) in ("run", "*") for one in names):
                    return True
            case ast.Assign(targets=targets):
                if any(isinstance(one, ast.Name) and one.id == "run" for one in targets):
                    return True
            case ast.If() | ast.Try():  # it may be defined inside: say nothing
                return True
    return False
