"""All benchmark cases, in the order of the table."""

from cases import binary, binned, kernel, multiclass, predict, threshold

FAMILIES = (binned, kernel, binary, multiclass, predict, threshold)

CASES = {case.name: case for family in FAMILIES for case in family.CASES}
