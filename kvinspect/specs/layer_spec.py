"""What the spec of one layer is to the type checker, of whatever kind."""

from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.mamba import MambaSpec
from kvinspect.specs.raw_pages import RawPagesSpec

ViewedSpec = AttentionSpec | MambaSpec
"""The spec of a layer that gets views of its pages."""
LayerSpec = ViewedSpec | RawPagesSpec
