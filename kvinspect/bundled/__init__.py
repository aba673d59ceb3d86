"""Facts of public config.json files that come with kvinspect, so that a model's name is enough without a network."""
