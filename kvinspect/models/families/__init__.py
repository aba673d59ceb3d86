"""One module a family of models: `ARCHITECTURES` names what it covers, `layers` yields the layers of one of them."""
