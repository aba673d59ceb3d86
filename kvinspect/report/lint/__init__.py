"""Findings for people and programs: one module a format, each a function `render(report)`."""
