"""The entry script: where it is, how it is loaded, what it offers.

Source: "The entry script" of the ParallelRunStep page.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types

from .config import Config

CO_VARARGS = 4


class ScriptInvalid(Exception):
    """The entry script cannot work in any process: no run(), or one that cannot be called."""


class Script:
    """The functions of the loaded script; ``init`` and ``shutdown`` may be None."""

    def __init__(self, module: types.ModuleType, name: str) -> None:
        self.init = _function(module, "init")
        self.shutdown = _function(module, "shutdown")
        run = getattr(module, "run", None)
        if not callable(run):
            found = "has no function run()" if run is None else "has a run that is no function"
            raise ScriptInvalid("{} {}; it needs run(mini_batch)".format(name, found))
        self.run = run
        self.takes_context = takes_context(run, name)


def prepare_interpreter(config: Config, shim_dir: str) -> None:
    """Set the working directory, sys.path and sys.argv that the script will find."""
    path = entry_path(config)
    os.chdir(config.work_dir)
    folders = [config.work_dir]
    if os.path.dirname(path) != os.path.normpath(config.work_dir):
        folders.append(os.path.dirname(path))
    sys.path[:] = folders + [entry for entry in sys.path if entry not in folders] + [shim_dir]
    settings = config.settings_arguments if config.script_sees_settings else []
    sys.argv[:] = [path] + config.arguments + settings


def entry_path(config: Config) -> str:
    """Return the absolute path of the entry script."""
    name = config.entry_script
    if not name.endswith(".py"):
        name = name.replace(".", "/") + ".py"
    return os.path.normpath(os.path.join(config.work_dir, name))


def load_script(config: Config) -> Script:
    """Import the entry script. Raises ScriptInvalid, and whatever its import raises."""
    path = entry_path(config)
    relative = os.path.relpath(path, config.work_dir)
    if not os.path.isfile(path):
        raise ScriptInvalid("{}: no such file in the copy of the code".format(relative))
    return Script(_import(path, relative), relative)


def _import(path: str, relative: str) -> types.ModuleType:
    """Import by module name; by path when the name is none, or another module has it."""
    parts = relative[: -len(".py")].split(os.sep)
    name = ".".join(parts)
    if all(part.isidentifier() for part in parts) and _origin(name) == os.path.realpath(path):
        return importlib.import_module(name)
    name = parts[-1] if parts[-1] not in sys.modules else "entry_script_" + parts[-1]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # it ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _origin(name: str) -> str:
    """Return the real path of the file that ``import name`` would load now, or nothing."""
    if name in sys.modules:
        return ""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # a package of theirs fails to import
        return ""  # code/main.py: the library's module code is no package
    return os.path.realpath(spec.origin) if spec is not None and spec.origin else ""


def _function(module: types.ModuleType, name: str):  # type: ignore[no-untyped-def]
    found = getattr(module, name, None)
    return found if callable(found) else None


def takes_context(run, name: str) -> bool:  # type: ignore[no-untyped-def]
    """Return whether run() takes a second positional argument. Raises ScriptInvalid."""
    required, most, needs_keyword = _arity(run)
    if needs_keyword or required > 2 or most < 1:
        raise ScriptInvalid(
            "{}: run() must take mini_batch, or mini_batch and context; it {}".format(
                name,
                "takes none"
                if most < 1
                else "needs {} arguments".format(required + needs_keyword),
            )
        )
    return most == 2 or required == 2


def _arity(run) -> tuple[int, int, int]:  # type: ignore[no-untyped-def]
    """Return (needed, most) positional arguments and the count of needed keyword-only ones.
    A ``*args`` counts as one that may be given."""
    if type(run) is types.FunctionType and not hasattr(run, "__wrapped__"):
        code = run.__code__
        count = code.co_argcount
        keywords = code.co_kwonlyargcount - len(run.__kwdefaults__ or ())
        most = max(count, 1) if code.co_flags & CO_VARARGS else count
        return count - len(run.__defaults__ or ()), most, keywords
    return _arity_by_signature(run)


def _arity_by_signature(run) -> tuple[int, int, int]:  # type: ignore[no-untyped-def]
    import inspect  # costs milliseconds, and is needed for decorated functions and objects only

    try:
        parameters = inspect.signature(run).parameters.values()
    except (TypeError, ValueError):
        return 1, 1, 0  # written in C without a signature
    positional = [
        one
        for one in parameters
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    empty = inspect.Parameter.empty
    required = sum(one.default is empty for one in positional)
    keywords = sum(one.kind == one.KEYWORD_ONLY and one.default is empty for one in parameters)
    has_rest = any(one.kind == one.VAR_POSITIONAL for one in parameters)
    most = max(len(positional), 1) if has_rest else len(positional)
    return required, most, keywords
