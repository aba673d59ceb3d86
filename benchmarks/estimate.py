"""The estimate of available memory beside what public start-up logs printed: errors, and whether the band holds it."""

import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from kvinspect.bundled.lookup import bundled  # noqa: E402
from kvinspect.models.profiled import GIB, Profile, Run, half_band, terms_of  # noqa: E402

ROWS = ROOT / "tests" / "models" / "start_ups.jsonl"


def rows():
    """The rows of CUDA start-ups from 0.18 on whose model and weights are known."""
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def estimate(row):
    """(estimated, low, high) in GiB, from the weights that the log printed."""
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
    rest, half = sum(terms.values()) / GIB, half_band(terms) / GIB
    return left - rest, left - rest - half, left - rest + half


def main():
    """Print the table, or its last line as JSON."""
    errors, inside, lines = [], [], []
    for row in rows():
        value, low, high = estimate(row)
        errors.append(abs(value / row["avail"] - 1))
        inside.append(low <= row["avail"] <= high)
        where = "" if inside[-1] else " outside"
        setup = f"{row['model']:48} {row['gpu'][:12]:12} {row['release']:14} x{row['n']}"
        lines.append(f"{setup} {row['avail']:8.2f} {value:8.2f} [{low:.2f}, {high:.2f}] {errors[-1]:6.2%}{where}")
    found = {
        "rows": len(errors),
        "median": statistics.median(errors),
        "p90": sorted(errors)[int(0.9 * (len(errors) - 1))],
        "inside": sum(inside) / len(inside),
    }
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    print("\n".join(lines))
    print("{rows} rows: median error {median:.2%}, p90 {p90:.2%}, {inside:.0%} inside the band".format(**found))


if __name__ == "__main__":
    main()
