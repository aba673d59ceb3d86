"""Pictures of an allocation: who sees which block where. `scene.py` says what is drawn, a module a format draws it."""
