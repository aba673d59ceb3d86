"""Rules over what the engine answers: a code, a severity, a check, a page in `docs/rules/`."""
