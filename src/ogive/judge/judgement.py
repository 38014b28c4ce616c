"""The findings about an implementation: numbers, examples, causes. Plain data, which every report is written from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: The version of the JSON that `Judgement.as_dict` gives; data/judgement.schema.json describes it.
SCHEMA_VERSION = 1

#: Upper ends of the histogram's bins, in ULP; the last bin has what is larger.
BINS = (0.5, 0.51, 0.6, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0, 64.0, 1024.0, 2.0**16, 2.0**24)

#: The properties that are judged apart from ULP -> what it means.
POLICIES = {
    "nan_lost": "the result is a number where it must be NaN",
    "nan_made": "the result is NaN where it must be a number",
    "infinity_lost": "the result is finite where it must be infinite",
    "infinity_made": "the result is infinite where it must be finite",
    "infinity_sign": "the infinity has the other sign",
    "zero_sign": "the zero has the other sign",
    "result_flushed": "the result is zero where it must be subnormal",
    "input_flushed": "a subnormal input is taken for zero",
    "input_written": "the function writes into its input",
    "unwritten": "the function leaves results unwritten",
    "writes_past_end": "the function writes past the end of its results",
    "writes_before_start": "the function writes before the start of its results",
    "reads_past_end": "the function reads past the end of its inputs",
    "crashed": "a call ends the process, or raises an exception",
    "endless": "a call does not end in time",
}

#: Policies that no budget allows: of such a call there are no results.
FATAL = ("crashed", "endless")

#: Policies that a budget may allow.
ALLOWABLE = tuple(name for name in POLICIES if name not in FATAL)


@dataclass
class Example:
    """One result."""

    inputs: tuple[float, ...]
    result: float
    right: float
    exact: float
    ulp: float
    """The error against the exact value, in units in the last place; infinite where one is NaN or infinite."""
    steps: float
    """How many numbers of the type lie between the result and the right one, and one."""
    bits: tuple[str, ...] = ()
    """The inputs' bits, then the result's and the right one's, in hexadecimal."""


@dataclass
class Policy:
    """One of `POLICIES`: how often it was broken."""

    count: int = 0
    """The number of results; for what a function does to memory and to its process, of calls."""
    example: Example | None = None
    text: str = ""
    """The effect of the function in the first such call; empty where there is an example."""


@dataclass
class Calls:
    """The calls beside the sweep: short, shifted, strided, long, repeated ones, and with other numbers of threads."""

    count: int = 0
    results: int = 0
    differing: int = 0
    """Results with other bits than the sweep's at the same input. They are judged by themselves."""
    worst_ulp: float = 0.0
    """The largest error of those; policies apart."""
    not_nearest: int = 0
    """Inputs that have the nearest result in the sweep, and another one in some call."""
    beyond: int = 0
    """Results that the budget does not allow, of inputs whose result in the sweep it allows."""
    wrong: int = 0
    """Calls with such results."""
    where: str = ""
    """The properties that these have in common, such as ``in calls whose length is not a multiple of 8``; empty if nothing was found."""
    first: str = ""
    """The first of these calls."""
    worst: Example | None = None
    """The first of these results."""

    @property
    def text(self) -> str:
        """The sentence that decides."""
        if not self.beyond:
            return ""
        where = self.where or f"in {self.wrong:,} of {self.count:,} calls"
        at = ""
        if self.worst is not None:
            given = ", ".join(f"{value:.9g}" for value in self.worst.inputs)
            at = f": {self.worst.result:.9g} at {given} in {self.first}, right is {self.worst.right:.9g}"
        return f"wrong {where}{at} ({self.beyond:,} results of {self.wrong:,} calls)"


@dataclass
class Dependence:
    """Whether results depend on what they must not depend on."""

    checked: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    """A sentence for each kind that was found."""
    steps: float = 0.0
    """The largest difference, in numbers of the type."""


@dataclass
class Cause:
    """The causes of errors, as far as they can be told."""

    name: str
    """A word for programs, such as ``saturation``."""
    text: str
    """A sentence for people."""
    evidence: str
    """The compared explanation, and how well it fits."""
    share: float
    """The part of the wrong results that it explains."""
    region: tuple[float, float] | None = None
    """From which input to which."""


@dataclass
class Judgement:
    """An implementation of one operator in one element type."""

    subject: str
    subject_version: str
    operator: str
    standard: str
    version: str
    dtype: str
    parameters: dict[str, Any]
    parameter_rule: str
    inputs: str = ""
    """``every input``, or how they were chosen."""
    count: int = 0
    not_nearest: int = 0
    """Results that are not the correctly rounded ones. Any NaN is as good as another; signs of zeros count apart."""
    worst_ulp: float = 0.0
    """The largest error against exact values; policies apart."""
    worst_steps: float = 0.0
    """The largest distance from the right results, in numbers of the type."""
    worst: Example | None = None
    bins: list[float] = field(default_factory=lambda: list(BINS))
    histogram: list[int] = field(default_factory=lambda: [0] * (len(BINS) + 1))
    policies: dict[str, Policy] = field(default_factory=lambda: {name: Policy() for name in POLICIES})
    examples: list[Example] = field(default_factory=list)
    """The worst results, each from another place."""
    reversals: int = 0
    """Pairs of neighbours among the inputs whose results are in the wrong order."""
    reversal: Example | None = None
    symmetry: str = ""
    """``odd``, ``even``, or empty."""
    asymmetric: int = 0
    """Results that break the symmetry that the exact values have."""
    dependence: Dependence = field(default_factory=Dependence)
    calls: Calls = field(default_factory=Calls)
    nanoseconds: float = 0.0
    """The time of one element of a long array."""
    causes: list[Cause] = field(default_factory=list)
    curve: dict[str, Any] = field(default_factory=dict)
    """For pictures: places on an axis, and the largest errors there."""
    budget: dict[str, Any] = field(default_factory=dict)
    within_budget: bool = True
    beyond: list[str] = field(default_factory=list)
    """A sentence for everything that is beyond the budget."""

    def note(self, policy: str, text: str, call: str) -> None:
        """Count a call in which the function broke a policy, and keep what it did in the first one."""
        row = self.policies[policy]
        row.count += 1
        row.text = row.text or f"{text} in {call}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}

    @property
    def title(self) -> str:
        """A line for people."""
        given = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return f"{self.operator}, {self.dtype}" + (f" ({given})" if given else "")
