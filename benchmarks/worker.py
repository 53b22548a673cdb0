"""One measurement in a process of its own: `worker.py MODE CASE CONTENDER ROWS OUTPUT`.

run.py starts it; the figures go to the file OUTPUT as JSON, so that whatever a library prints
does no harm.

Times are taken as `timeit` does: a turn repeats the call until 20 ms have passed, and its figure is
the mean of its calls. So a call of less than a millisecond is not timed with caches that the other
contender has just emptied. Turns of ours and of the peer alternate, by the same rule.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from cases import CASES
from contenders import Case, Contender, Data

# Turns go on until one of the two is reached.
MOST_TURNS = 30
SECONDS = 20.0

# A turn lasts at least so many seconds.
TURN = 0.02


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def turn(call) -> float:
    """Mean seconds of a call, over as many as a turn takes."""
    start = time.perf_counter()
    n_calls = 0
    while (passed := time.perf_counter() - start) < TURN or n_calls == 0:
        call()
        n_calls += 1
    return passed / n_calls


def largest_difference(ours: dict[str, Any], theirs: dict[str, Any]) -> float | None:
    shared = ours.keys() & theirs.keys()
    if not shared:
        return None
    return max(float(np.max(np.abs(np.subtract(ours[key], theirs[key])))) for key in shared)


def time_side_by_side(case: Case, peer: Contender, data: Data) -> dict[str, Any]:
    """Ours, peer, ours, peer...: what disturbs the machine disturbs both."""
    our_call, peer_call = case.ours.prepare(data), peer.prepare(data)
    agreement = largest_difference(
        case.ours.outcome(our_call(), data), peer.outcome(peer_call(), data)
    )
    ours: list[float] = []
    theirs: list[float] = []
    end = time.perf_counter() + SECONDS
    while not ours or (len(ours) < MOST_TURNS and time.perf_counter() < end):
        ours.append(turn(our_call))
        theirs.append(turn(peer_call))
    return {"ours": ours, "theirs": theirs, "agreement": agreement}


def time_alone(contender: Contender, data: Data) -> dict[str, Any]:
    call = contender.prepare(data)
    call()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while not times or (len(times) < MOST_TURNS and time.perf_counter() < end):
        times.append(turn(call))
    return {"ours": times, "theirs": [], "agreement": None}


def resident(field: str) -> int:
    """Bytes of VmRSS (now) or VmHWM (the peak since it was reset) of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def measure_memory(contender: Contender, data: Data) -> dict[str, Any]:
    """Peak beyond what was resident before the call, whoever allocates (NumPy, numba, torch, jax).

    A first call loads and compiles everything; what it freed is given back to the system, so that
    the second call has to ask for all it uses.
    """
    call = contender.prepare(data)
    call()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak back to what is resident now
    before = resident("VmRSS")
    call()
    return {"peak": resident("VmHWM") - before}


def first_call(contender: Contender, data: Data) -> dict[str, Any]:
    """Importing the library and its first call, in this fresh process."""
    return {"seconds": seconds(lambda: contender.prepare(data)())}


def main() -> None:
    mode, case_name, contender_name, rows, output = sys.argv[1:]
    case = CASES[case_name]
    contender = next(c for c in (case.ours, *case.peers) if c.name == contender_name)
    data = case.data(int(rows))
    try:
        match mode:
            case "time" if contender is case.ours:
                measured = time_alone(contender, data)
            case "time":
                measured = time_side_by_side(case, contender, data)
            case "memory":
                measured = measure_memory(contender, data)
            case "first":
                measured = first_call(contender, data)
    except ModuleNotFoundError as error:
        measured = {"missing": f"{error.name} is not installed"}
    Path(output).write_text(json.dumps(measured))


if __name__ == "__main__":
    main()
