"""References and measurements: 300-bit results, errors of operators, functions of other libraries."""
