"""The estimate of available memory beside what public start-up logs printed: errors, and whether the band holds it.

Under the table the same with each model left out: the terms that are fitted (`FITTED`) are scaled anew to the start-ups
of all other models, and the left-out model's are estimated with them.
"""

import json
import pathlib
import statistics
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from kvinspect.bundled.lookup import bundled  # noqa: E402
from kvinspect.models.profiled import GIB, Profile, Run, half_band, terms_of  # noqa: E402

FITTED = ("context", "communication", "encoder", "sparse attention", "CUDA graphs")
"""Terms whose sizes come from start-ups; all others follow from the shapes of the profiling run."""

ROUNDS = 20
ROWS = ROOT / "tests" / "models" / "start_ups.jsonl"


def rows():
    """The rows of CUDA start-ups from 0.18 on whose model and weights are known."""
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


class Start(NamedTuple):
    """A start-up: what is left beside the weights, and the terms of the estimate, in GiB."""

    row: dict
    left: float
    terms: dict

    @property
    def aside(self):
        """What the start-up really set aside."""
        return self.left - self.row["avail"]

    def estimated(self, factors):
        """(estimated, low, high) where the fitted terms are multiplied by factors."""
        scaled = {name: size * factors.get(name, 1) for name, size in self.terms.items()}
        half = half_band({name: size * GIB for name, size in scaled.items()}) / GIB
        value = self.left - sum(scaled.values())
        return value, value - half, value + half


def start_of(row):
    """The start-up of a row, from the weights that its log printed."""
    profile = Profile(counts_graphs=tuple(map(int, row["release"].split(".")[:2])) >= (0, 20))
    flags = row["flags"]
    run = Run(
        flags.get("max_num_batched_tokens") or row["mnbt"],
        flags.get("max_num_seqs") or row["seqs"],
        row["n"],
        row["n"],
        bool(flags.get("enforce_eager")),
    )
    terms = terms_of(row["config"] if "config" in row else bundled(row["like"]).config, run, profile)
    left = row["util"] * row["total"] - row["weights"]
    return Start(row, left, {name: size / GIB for name, size in terms.items()})


def factors_of(starts):
    """What the fitted terms have to be multiplied by to lie in the middle of these start-ups; 1 where none has one."""
    factors = dict.fromkeys(FITTED, 1.0)
    for _ in range(ROUNDS):
        for name in FITTED:
            ratios = [ratio(start, name, factors) for start in starts if start.terms.get(name)]
            factors[name] = max(0.0, statistics.median(ratios)) if ratios else 1.0
    return factors


def ratio(start, name, factors):
    """By what the start-up's term `name` would have to be multiplied, its other terms being scaled by the factors."""
    others = sum(size * factors.get(other, 1) for other, size in start.terms.items() if other != name)
    return (start.aside - others) / start.terms[name]


def family(start):
    """The model without its organization and quantization, whose start-ups are left out together."""
    return start.row["model"].partition("/")[2].partition("-FP8")[0].partition("-0731")[0]


def summary(starts, factors):
    """The errors, where each start-up is estimated with its factors."""
    found = [(start.row["avail"], *start.estimated(one)) for start, one in zip(starts, factors, strict=True)]
    errors = sorted(abs(value / true - 1) for true, value, *_ in found)
    return {
        "rows": len(errors),
        "median": statistics.median(errors),
        "p90": errors[int(0.9 * (len(errors) - 1))],
        "inside": sum(low <= true <= high for true, _, low, high in found) / len(found),
    }


def line(start):
    """A start-up as a row of the table."""
    row, (value, low, high) = start.row, start.estimated({})
    where = "" if low <= row["avail"] <= high else " outside"
    setup = f"{row['model']:48} {row['gpu'][:12]:12} {row['release']:14} x{row['n']}"
    return (
        f"{setup} {row['avail']:8.2f} {value:8.2f} [{low:.2f}, {high:.2f}] {abs(value / row['avail'] - 1):6.2%}{where}"
    )


def main():
    """Print the table, or its last lines as JSON."""
    starts = [start_of(row) for row in rows()]
    without = {name: factors_of([start for start in starts if family(start) != name]) for name in map(family, starts)}
    found = summary(starts, [{}] * len(starts))
    found["left_out"] = summary(starts, [without[family(start)] for start in starts]) | {"models": len(without)}
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    print("\n".join(map(line, starts)))
    told = "{rows} rows: median error {median:.2%}, p90 {p90:.2%}, {inside:.0%} inside the band"
    print(told.format(**found))
    print("each of {models} models left out: ".format(**found["left_out"]) + told.format(**found["left_out"]))


if __name__ == "__main__":
    main()
