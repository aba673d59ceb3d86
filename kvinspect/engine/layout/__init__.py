"""The standardised layouts of 0.29 on: one backing allocation that the groups overlay, viewed as `[B, H, N, C]`."""
