"""A sweep's points as a table with bars, and as a chart in SVG or HTML."""
