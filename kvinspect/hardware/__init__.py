"""GPUs: what each has, by name, and what the driver of this machine reports."""
