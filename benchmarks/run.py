"""Measure calibrant and its peers side by side and print one table.

    python benchmarks/run.py [--only NAME] [--quick]

Every figure comes from a fresh process (worker.py). A time is the mean call of the best turn, and
a turn repeats the call until 20 ms have passed, as `timeit` does, for ours and the peer alike. A
full run also writes results/latest.md and results/latest.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine
import table
from cases import CASES
from contenders import Case, Contender

HERE = Path(__file__).parent
RESULTS = HERE / "results"
FIRST_CALL_ROWS = 1_000
LONGEST = 600


def measure(
    mode: str, case: Case, contender: Contender, rows: int, **environment: str
) -> dict[str, Any]:
    """Run one measurement in a process of its own; a crash or hang becomes a word in the table."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "figures.json"
        arguments = [mode, case.name, contender.name, str(rows), str(output)]
        try:
            subprocess.run(
                [sys.executable, str(HERE / "worker.py"), *arguments],
                check=True,
                capture_output=True,
                text=True,
                timeout=LONGEST,
                env=os.environ | environment,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"not done after {LONGEST} s"}
        except subprocess.CalledProcessError as error:
            return {"failed": error.stderr.strip().splitlines()[-1][:200]}
        return json.loads(output.read_text())


def measure_case(case: Case, quick: bool) -> list[dict[str, Any]]:
    rows = case.quick_rows if quick else case.rows
    data = case.data(rows)
    input_size = sum(data[name].nbytes for name in case.reads)
    del data  # the workers need the memory
    our_memory = measure("memory", case, case.ours, rows)
    return [
        {
            "case": case.name,
            "peer": peer.name if peer else None,
            "rows": rows,
            "input_size": input_size,
            "time": measure("time", case, peer or case.ours, rows),
            "our_memory": our_memory,
            "peer_memory": measure("memory", case, peer, rows) if peer else {},
        }
        for peer in case.peers or (None,)
    ]


def measure_first_call(case: Case) -> dict[str, Any]:
    """A fresh process without, then with the compiled code of the one before."""
    with tempfile.TemporaryDirectory() as cache:
        uncached, cached = (
            measure("first", case, case.ours, FIRST_CALL_ROWS, NUMBA_CACHE_DIR=cache)
            for _ in range(2)
        )
    return {"case": case.name, "uncached": uncached, "cached": cached}


def report(described: dict[str, Any], rows: list[dict], first_calls: list[dict]) -> str:
    lines = []
    for measured in rows:
        case = CASES[measured["case"]]
        peer = next((peer for peer in case.peers if peer.name == measured["peer"]), None)
        lines.append(table.row(case, peer, measured))
    parts = [table.heading(described), table.markdown(lines)]
    if first_calls:
        lines = [
            table.first_call_row(CASES[call["case"]], call["uncached"], call["cached"])
            for call in first_calls
        ]
        parts += [
            f"Our import and first call in a fresh process, {FIRST_CALL_ROWS:,} rows, before and "
            "after the compiled code is cached on disk:",
            table.markdown(lines),
        ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=CASES, help="measure this case alone")
    parser.add_argument("--quick", action="store_true", help="small data, to see that it all runs")
    options = parser.parse_args()
    chosen = [CASES[options.only]] if options.only else list(CASES.values())

    described = machine.describe()
    rows, first_calls = [], []
    for case in chosen:
        print(f"measuring {case.name} ...", file=sys.stderr, flush=True)
        rows += measure_case(case, options.quick)
        if case.first_call:
            first_calls.append(measure_first_call(case))
    text = report(described, rows, first_calls)
    if options.quick:
        print("Quick run: fewer rows than the table says, so these figures mean little.\n")
    print(text)
    if not options.only and not options.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "latest.md").write_text(text)
        figures = {"machine": described, "rows": rows, "first_calls": first_calls}
        (RESULTS / "latest.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
