"""The counts of comparisons as the table of a page: a row for each release and command, kept until it is measured anew."""

BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->"
OUTCOMES = ("equal", "refused", "intended", "unanswered", "differs")
HEAD = (
    "| release | command | documents | equal | refused by both | intended | unanswered | differ |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)


def row(report):
    """(release, command) → the cells of a comparison."""
    counts = [report.outcomes[outcome] for outcome in OUTCOMES]
    return {(report.release, report.command): [sum(counts), *counts]}


def put(page, rows):
    """Replace rows of a page's table, and add those that it has not."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    table, _, after = rest.partition(END)
    page.write_text(before + BEGIN + written(read(table) | rows) + END + after, encoding="utf-8")


def read(table):
    """The rows of a table."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {(release, command): [int(cell) for cell in cells] for release, command, *cells in lines}


def written(rows):
    """A table, newest release first."""
    ordered = sorted(rows.items(), key=lambda one: ([-int(n) for n in one[0][0].split(".")], one[0][1]))
    lines = [" | ".join(["", *key, *map(str, cells), ""]).strip() + "\n" for key, cells in ordered]
    return HEAD + "".join(lines)
