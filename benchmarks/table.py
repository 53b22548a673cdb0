"""The measured figures as Markdown."""

from __future__ import annotations

from typing import Any

from contenders import Case, Contender

Measured = dict[str, Any]


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"


def size(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.3g} MB"


def _memory(measured: Measured, input_size: float) -> str:
    if "peak" not in measured:
        return "failed" if "failed" in measured else "-"
    return f"{size(measured['peak'])} ({measured['peak'] / input_size:.0%})"


def row(case: Case, peer: Contender | None, measured: Measured) -> dict[str, str]:
    """One line of the table, every figure already text; what went wrong stands in its place."""
    times, input_size = measured["time"], measured["input_size"]
    cells = {
        "case": case.job,
        "peer": peer.name if peer else "(ours alone)",
        "ours": "-",
        "peer time": "-",
        "times faster": "-",
        "aim": "-",
        "input": size(input_size),
        "our memory": _memory(measured["our_memory"], input_size),
        "peer memory": _memory(measured["peer_memory"], input_size) if peer else "-",
        "agreement": "-",
    }
    wrong = times.get("failed") or times.get("missing")
    if wrong:
        return cells | {"peer time": wrong}
    cells["ours"] = duration(min(times["ours"]))
    if times["theirs"]:
        ratio = min(times["theirs"]) / min(times["ours"])
        cells |= {"peer time": duration(min(times["theirs"])), "times faster": f"{ratio:.3g}"}
        if peer and peer.faster:
            cells["aim"] = f">= {peer.faster:g}: {'met' if ratio >= peer.faster else 'MISSED'}"
    if times["agreement"] is not None:
        cells["agreement"] = f"{times['agreement']:.1e}"
    if case.memory_share and "peak" in measured["our_memory"]:
        met = measured["our_memory"]["peak"] < case.memory_share * input_size
        cells["our memory"] += f", aim < {case.memory_share:.0%}: {'met' if met else 'MISSED'}"
    return cells


def first_call_row(case: Case, uncached: Measured, cached: Measured) -> dict[str, str]:
    def text(measured: Measured) -> str:
        return duration(measured["seconds"]) if "seconds" in measured else "failed"

    return {"case": case.job.split(",")[0], "not cached": text(uncached), "cached": text(cached)}


def markdown(rows: list[dict[str, str]]) -> str:
    """A Markdown table whose columns also line up in a terminal."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def heading(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"Measured {machine['date']} on {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory']} of memory, {machine['system']}, Python {machine['python']}; "
        f"BLAS: {machine['blas']}.\n\n{versions}."
    )
