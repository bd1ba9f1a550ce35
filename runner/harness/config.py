"""What a worker process is told at its start: one JSON object in a file.

The node agent writes the file (it may not import this module, so it writes the
names below as plain JSON members), the process reads it here. Paths are
absolute where nothing else is said, and their folders exist already.
"""

from __future__ import annotations

import json


class ConfigInvalid(ValueError):
    """The file cannot be read, a member is missing or one is not known."""


class Config:
    """The members of the file, as attributes. Those with a value may be left out."""

    job_id: str
    folder: str  # the job folder
    node_name: str
    node_index: int  # within the job, from 0
    process: int  # number of this process on its node
    assignment: int
    work_dir: str  # copy of the snapshot; the working directory
    entry_script: str  # relative to work_dir, "dir/x.py" or "pkg.main"
    output_folder: str

    # Log files. All are appended to.
    system_log: str  # logs/sys/node/<node>/process003.txt
    user_stdout: str  # logs/user/stdout/<node>/process003.stdout.txt
    user_stderr: str  # logs/user/stderr/<node>/process003.stderr.txt
    user_error: str  # logs/user/error/<node>/process003.txt
    entry_script_log: str  # logs/user/entry_script_log/<node>/process003.log.txt
    log_dir: str  # logs/user/entry_script_log/<node>

    # What travels, see wire.
    segment: str  # this process's alone; made here
    status_file: str  # made by whoever is first
    manifest_items: str
    manifest_index: str

    # One a kind of input, in the order of the job; the index record's input number
    # points here: {"name", "kind": "files" | "table", "path": text or null, "table": {…}}.
    # "table" holds the options of the job file as they are: format, delimiter, encoding,
    # header, quoted_newlines, types, columns, path_column.
    inputs: list

    node_address: str = "127.0.0.1"
    gpu: object = None  # index of the GPU, or None
    arguments: list = []  # the script's own
    settings_arguments: list = []  # settings in Azure's spelling, after those
    script_sees_settings: bool = True
    logging_level: str = "INFO"  # WARNING | INFO | DEBUG
    output_action: str = "append_row"  # append_row | summary_only
    # {"format": text | csv | jsonl, "sep", "header", "index", "to_csv": {further options}}
    output: dict = {}
    rank_mode: bool = False  # mini-batches without data; inputs is empty
    run_max_try: int = 3
    shim_dir: str = ""  # default: the shim beside this file
    models: dict = {}  # name -> path
    profiling_module: str = ""  # "" | cProfile | profile
    profile_file: str = ""  # logs/sys/node/<node>/process003.profile
    masked: list = []  # values never shown in the process file (secrets among the arguments)
    environment: dict = {}  # for the first log lines: name -> text


def read_config(path):
    # type: (str) -> Config
    """Return the configuration in the file ``path``, or raise ConfigInvalid."""
    try:
        with open(path, "rb") as file:
            members = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigInvalid("{}: {}".format(path, error)) from None
    known = Config.__annotations__
    missing = [name for name in known if name not in members and not hasattr(Config, name)]
    unknown = [name for name in members if name not in known]
    if missing or unknown:
        raise ConfigInvalid("{}: missing {}, not known {}".format(path, missing, unknown))
    config = Config()
    config.__dict__.update(members)
    return config
