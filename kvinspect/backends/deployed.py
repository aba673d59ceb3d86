"""What answers under one deployment: its facts, and the backends of a release and of a document under them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvinspect.backends.backend import Backends
from kvinspect.backends.deployment_facts import DeploymentFacts
from kvinspect.document.document import Document


class Deployed(NamedTuple):
    """The facts of a document's deployment and its backends, made once for all stages."""

    deployment: DeploymentFacts
    backends: Backends

    @classmethod
    def of(cls, document: Document, catalogue: Mapping[str, Any]) -> Deployed:
        """What answers for a document under a release's catalogue."""
        deployment = DeploymentFacts.of(document)
        return cls(deployment, Backends(catalogue, document.model.backends, deployment.facts()))
