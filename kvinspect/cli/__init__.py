"""The commands: parse the call, call the rooms, choose a report, set the exit code."""
