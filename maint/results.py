"""Files of results, as bench/results has them: the figures of one machine in one state, with date, commit and command.
The rows are [operation, size, figure of each column]; a barrier has size "-"."""

import datetime
import json
import os
import subprocess
import sys

from peers import ROOT

FOLDER = os.path.join(ROOT, "bench/results")
KEYS = ("title", "machine", "state", "ranks", "hosts", "date", "commit", "command", "peers", "unit", "columns",
        "rows")


def read(path):
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    missing = [key for key in KEYS if key not in result]
    if missing:
        sys.exit(f"{path}: lacks {', '.join(missing)}")
    other = [row for row in result["rows"] if len(row) != 2 + len(result["columns"])]
    if other:
        sys.exit(f"{path}: a row does not have {2 + len(result['columns'])} columns: {other[0]}")
    return dict(result, name=os.path.splitext(os.path.basename(path))[0])


def read_all():
    return [read(os.path.join(FOLDER, name)) for name in sorted(os.listdir(FOLDER)) if name.endswith(".json")]


def write(path, result):
    """One line a key and one line a row, so that differences can be read."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n")
        file.writelines(f" {json.dumps(key)}: {json.dumps(result[key])},\n" for key in KEYS[:-1])
        file.write(' "rows": [\n' + ",\n".join("  " + json.dumps(row) for row in result["rows"]) + "\n ]\n}\n")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    model = next((line.split(":")[1].strip() for line in text.split("\n") if line.startswith("model name")),
                 os.uname().machine)
    kind = "virtual machine" if " hypervisor" in text else "machine"
    return f"{model}, {kind} with {len(os.sched_getaffinity(0))} cores"


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False).stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "unknown") + (" and changes" if git("diff", "HEAD", "--stat") else "")


def today():
    return datetime.date.today().isoformat()
