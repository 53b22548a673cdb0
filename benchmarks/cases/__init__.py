"""All benchmark cases, in the order of the table."""

from cases import binary, binned, multiclass, predict

CASES = {
    case.name: case for case in (*binned.CASES, *binary.CASES, *multiclass.CASES, *predict.CASES)
}
