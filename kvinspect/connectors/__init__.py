"""What KV connectors and offloading ask of a cache: a catalogue a release, and what follows from it."""
