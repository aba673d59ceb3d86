"""Pictures of an allocation: where each layer sees each block. `scene.py` says what to draw; one module a format."""
