"""All benchmark cases, in the order of the table."""

from cases import binary, binned, kernel, multiclass, predict

FAMILIES = (binned, kernel, binary, multiclass, predict)

CASES = {case.name: case for family in FAMILIES for case in family.CASES}
