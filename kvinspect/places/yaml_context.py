"""What the mappings around a place say of it: the release of the image, GPUs, environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import yaml

from kvinspect.commands.images import release_at
from kvinspect.commands.pins import in_text
from kvinspect.places.fragment import Entry, Fragment, Said, Word
from kvinspect.places.source import Source
from kvinspect.places.yaml_nodes import get, inner, items, pairs, text_of, word

Around = Sequence[yaml.Node]
"""The nodes around a place, the outermost first."""

_IMAGE = re.compile(r"image|image[_-]?(?:uri|name|url)|.*_image(?:_uri)?", re.IGNORECASE)
_GPU_LIMIT = re.compile(
    r"(?:nvidia|amd|gpu\.intel)\.com/(?:gpu|mig-[\w.]+|i915|xe)|gpu|nvidiaGpu|google\.com/tpu|habana\.ai/gaudi"
)
_SELECTOR = re.compile(
    r".*(?:gke-accelerator|gpu[._-]product|gpu[._-]?type|gpu[._-]?name|accelerator|gpu\.model)", re.IGNORECASE
)
_KIND_KEY = re.compile(
    r"accelerators?|accelerator_?type|gpu_?type|gpu_?kind|.*node_shape|instance_?type|machine_?type", re.IGNORECASE
)
_COUNT_KEY = re.compile(r"(?:.*_)?(?:gpu_count|num_gpus|n_gpus(?:_per_node)?|gpuCount|requestGPU)")
_A_GPU = re.compile(
    r"(?<![a-z0-9])(?:a10g?|a16|a30|a40|a100|h100|h200|h20|gh200|b100|b200|gb200|b300|gb300|l4|l40s?|l20|t4|v100|"
    r"p100|rtx[-_ ]?\w+|mi2\d\d\w?|mi3\d\d\w?|tpu[-_]?v\d\w*)(?![a-z])",
    re.IGNORECASE,
)

_VARIABLES = re.compile(r"env|environment|env_?vars?|variables|extraEnvs?|\w+_env", re.IGNORECASE)
_MODELS = (("model_loading_config", "model_source"), ("model_loading_config", "model_id"))
"""Where the mappings around engine arguments name the model: Ray Serve."""


def with_context(fragment: Fragment, around: Around, source: Source) -> Fragment:
    """The fragment with what the nodes around it say and it does not say itself."""
    gpu, gpus = _gpus(around, source)
    return fragment._replace(
        release=fragment.release or release(around, source),
        gpu=fragment.gpu or gpu,
        gpus=fragment.gpus or gpus,
        model=fragment.model or _model(around, source),
        env=(*variables(around, source), *fragment.env),
    )


def _model(around: Around, source: Source) -> Word | None:
    found = (get(node, *path) for node in reversed(around) for path in _MODELS)
    return next((word(one, source) for one in found if isinstance(one, yaml.ScalarNode)), None)


def image_of(around: Around) -> yaml.ScalarNode | None:
    """The image that the nearest mapping names."""
    for node in reversed(around):
        for key, value in pairs(node):
            if _IMAGE.fullmatch(key.value):
                name = get(value, "name") or get(value, "repository") if isinstance(value, yaml.MappingNode) else value
                if isinstance(name, yaml.ScalarNode) and name.value:
                    return name
    return None


def release(around: Around, source: Source) -> Said | None:
    """The release that the image, a tag beside it or kustomize's list of images names."""
    image = image_of(around)
    if image is not None:
        text = inner(image, source)
        found = release_at(text.text)
        if found:
            return Said(found[0], "image tag", text.at(found[1]))
    for node in reversed(around):
        tags = [(get(node, "image", "repository"), get(node, "image", "tag"))]
        tags += [(get(one, "newName") or get(one, "name"), get(one, "newTag")) for one in items(get(node, "images"))]
        for name, tag in tags:
            if isinstance(tag, yaml.ScalarNode) and (found := release_at(f"{text_of(name)}:{tag.value}")):
                at = found[1] - len(text_of(name)) - 1
                return Said(found[0], "image tag", inner(tag, source).at(at))
    return _pinned(around, source)


def _pinned(around: Around, source: Source) -> Said | None:
    """The release that the nearest mapping with a pin installs."""
    for node in reversed(around):
        start, end = node.start_mark.index, node.end_mark.index
        for at, value in in_text(source.text[start:end]):
            return Said(value, "pip pin", source.at(start + at))
    return None


def variables(around: Around, source: Source) -> tuple[Entry, ...]:
    """The environment variables that the mappings around set, the nearest last."""
    return tuple(entry for node in around for entry in _variables(node, source))


def _variables(node: yaml.Node, source: Source) -> Iterator[Entry]:
    for key, value in pairs(node):
        if key.value == "runtime_env":
            yield from _set(get(value, "env_vars"), source)
        elif _VARIABLES.fullmatch(key.value):
            yield from _set(value, source)


def _set(node: yaml.Node | None, source: Source) -> Iterator[Entry]:
    for key, value in pairs(node):
        if isinstance(value, yaml.ScalarNode):
            yield Entry(_name(key, source), word(value, source))
    for one in items(node):
        name, given = get(one, "name") or get(one, "key"), get(one, "value")
        if isinstance(name, yaml.ScalarNode):
            yield Entry(_name(name, source), word(given, source) if isinstance(given, yaml.ScalarNode) else None)
        elif "=" in text_of(one) and isinstance(one, yaml.ScalarNode):
            said = word(one, source)
            head, _, tail = said.text.partition("=")
            yield Entry(Word(head, said.begins), Word(tail, said.begins, said.opaque))


def _name(node: yaml.ScalarNode, source: Source) -> Word:
    said = word(node, source)
    return Word(said.text, said.begins)


def _gpus(around: Around, source: Source) -> tuple[Said | None, Said | None]:
    """(kind, number) of the GPUs that the nearest mapping with such words gives."""
    kind = number = None
    for node in reversed(around):
        kind = kind or next(_kinds(node, source), None)
        number = number or next(_numbers(node, source), None)
    return kind, number


def _kinds(node: yaml.Node, source: Source) -> Iterator[Said]:
    for key, value in pairs(node):
        if key.value in ("nodeSelector", "node_selector"):
            for name, said in pairs(value):
                if _SELECTOR.fullmatch(name.value) and text_of(said):
                    yield Said(text_of(said), f"{key.value} {name.value}", source.at(said.start_mark.index))
        elif key.value == "tags":
            for one in items(value):
                if _A_GPU.fullmatch(text_of(one)):
                    yield Said(text_of(one), "runner's tag", source.at(one.start_mark.index))
        elif _KIND_KEY.fullmatch(key.value) and _A_GPU.search(text_of(value)):
            yield Said(text_of(value), key.value, source.at(value.start_mark.index))


def _numbers(node: yaml.Node, source: Source) -> Iterator[Said]:
    for key, value in pairs(node):
        if key.value == "resources":
            for part in ("limits", "requests"):
                yield from _counts(get(value, part), f"{part} {{}}", _GPU_LIMIT, source)
            for one in items(get(node, "resources", "reservations", "devices")):
                yield from _reserved(one, source)
        elif key.value == "deploy":
            for one in items(get(value, "resources", "reservations", "devices")):
                yield from _reserved(one, source)
        elif key.value == "rayClusterConfig":
            for group in items(get(value, "workerGroupSpecs")):
                for container in items(get(group, "template", "spec", "containers")):
                    yield from _numbers(container, source)
        elif _COUNT_KEY.fullmatch(key.value) and text_of(value).isdecimal():
            yield Said(text_of(value), key.value, source.at(key.start_mark.index))


def _counts(node: yaml.Node | None, by: str, names: re.Pattern[str], source: Source) -> Iterator[Said]:
    for key, value in pairs(node):
        if names.fullmatch(key.value) and text_of(value).isdecimal():
            yield Said(text_of(value), by.format(key.value), source.at(key.start_mark.index))


def _reserved(device: yaml.Node, source: Source) -> Iterator[Said]:
    """The GPUs that compose reserves: by number, or by their ids."""
    for key, value in pairs(device):
        if key.value == "device_ids" and items(value):
            yield Said(
                str(len(items(value))),
                "deploy.resources.reservations.devices.device_ids",
                source.at(key.start_mark.index),
            )
        elif key.value == "count" and text_of(value).isdecimal():
            yield Said(text_of(value), "deploy.resources.reservations.devices.count", source.at(key.start_mark.index))
