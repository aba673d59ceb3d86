"""Places in YAML and JSON: lists of arguments, mappings of engine arguments, shell text and flags in strings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import yaml

from kvinspect.document.limits import MAX_DEPTH
from kvinspect.document.problem import Mark
from kvinspect.models.flag_names import is_flag
from kvinspect.places import docker_run, names, shell
from kvinspect.places.forms import YAML_FLAGS, YAML_LIST, YAML_MAPPING, YAML_SHELL
from kvinspect.places.fragment import Entry, Fragment, Word
from kvinspect.places.programs import front_end
from kvinspect.places.shell import started_by
from kvinspect.places.source import Source, of_file
from kvinspect.places.yaml_context import image_of, with_context
from kvinspect.places.yaml_nodes import documents, get, inner, items, pairs, plain, scalars, text_of, word, written

COMMANDS = ("entrypoint", "command", "args", "cmd")
"""Keys of a container that hold its words, in the order in which they are joined."""

_ARGUMENTS = re.compile(
    r"(?:v?llm_?)?engine_?(?:kw)?(?:args|config)|vllm_?(?:engine_?)?(?:args|config|kw_?args|options)", re.I
)
"""Keys whose mapping holds arguments of the engine."""

_WRAPPED = re.compile(r"vllm_?config", re.IGNORECASE)
"""Keys of a chart's own, whose mapping holds arguments of the chart as well."""

_STARTS = re.compile(r"vllm\s+serve|vllm\.entrypoints|dynamo\.vllm|vllm/vllm|\bvllm-openai")


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a YAML or JSON file."""
    yield from find_in(of_file(text), name)


def find_in(source: Source, name: str = "", deep: int = 0) -> Iterator[Fragment]:
    """The places of a YAML or JSON text inside a file, in the order of the text."""
    for root in documents(source):
        reader = _Reader(source, name, deep)
        if not deep and isinstance(root, yaml.MappingNode) and is_serve_file(root):
            yield with_context(_of_mapping(root, source, wrapped=False), [root], source)
        else:
            yield from sorted(reader.below(root, ()), key=lambda found: found.begins)


def is_serve_file(root: yaml.MappingNode) -> bool:
    """Whether a mapping at the top is a `vllm serve --config` file: its keys are flags, or nearly, one only vLLM's."""
    keys = [key.value for key, _ in pairs(root)]
    return len(keys) == len(root.value) and names.are_the_engines([f"--{key}" for key in keys])


class _Reader:
    """One pass over the nodes of a document; a node that an alias repeats is looked at once."""

    def __init__(self, source: Source, name: str, deep: int) -> None:
        self.source, self.name, self.deep = source, name, deep
        self.seen: set[int] = set()

    def below(self, node: yaml.Node, around: tuple[yaml.Node, ...]) -> Iterator[Fragment]:
        """The places in a node and below it."""
        if id(node) in self.seen or len(around) > MAX_DEPTH:
            return
        self.seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield from self._in_context(self._scalar(node), around)
        elif isinstance(node, yaml.SequenceNode):
            yield from self._in_context(self._list(node, around), around)
            for one in node.value:
                yield from self.below(one, around)
        else:
            yield from self._mapping(node, (*around, node))

    def _in_context(self, found: Iterator[Fragment], around: Sequence[yaml.Node]) -> Iterator[Fragment]:
        return (with_context(one, around, self.source) for one in found)

    def _mapping(self, node: yaml.Node, around: tuple[yaml.Node, ...]) -> Iterator[Fragment]:
        used = self._container(node)
        if used:
            yield from self._in_context(self._started(used, node, around), around)
        for key, value in pairs(node):
            if (
                isinstance(value, yaml.MappingNode)
                and id(value) not in self.seen
                and _holds_arguments(key.value, value)
            ):
                self.seen.add(id(value))
                wrapped = _WRAPPED.fullmatch(key.value) is not None
                yield from self._in_context(iter([_of_mapping(value, self.source, wrapped)]), around)
                for _, below in pairs(value):
                    yield from self.below(below, (*around, value))
            yield from self.below(value, around)

    def _container(self, node: yaml.Node) -> list[yaml.Node]:
        """The lists of words of a container, marked as seen; none where it has none."""
        found = [
            value for key in COMMANDS for value in [get(node, key)] if value is not None and id(value) not in self.seen
        ]
        return [one for one in found if _is_words(one) or (isinstance(one, yaml.ScalarNode) and one.value)]

    def _started(self, used: list[yaml.Node], node: yaml.Node, around: Sequence[yaml.Node]) -> Iterator[Fragment]:
        """What the words of a container start."""
        image = text_of(image_of(around))
        serves = docker_run.serves(image)
        if any(isinstance(one, yaml.ScalarNode) for one in used):
            yield from self._string(used, serves)
            return
        nodes = [one for part in used for one in scalars(part)]
        found = self._words(nodes, used)
        if not found and nodes:
            words = [word(one, self.source) for one in nodes]
            alone = words[0].text == "serve" or is_flag(words[0].text) or not get(node, "command")
            if (serves and alone and _are_arguments(words)) or self._by_names(words, image, alone, around):
                found = [self._fragment(words, around)]
        if found:
            self.seen.update(id(one) for one in (*used, *nodes))
        yield from found

    def _by_names(self, words: list[Word], image: str, alone: bool, around: Sequence[yaml.Node]) -> bool:
        """Whether words of an image that does not tell are vLLM's by their flags, or those of a wrapper of it."""
        texts = [one.text for one in words]
        if not alone or (image and "vllm" in image.lower()):
            return False
        return names.are_the_engines(texts, 3 if image else 1) or _is_wrapped(texts, around)

    def _fragment(self, words: list[Word], around: Sequence[yaml.Node]) -> Fragment:
        texts = [one.text for one in words]
        own = names.own_flags(words) if _is_wrapped(texts, around) else ()
        return Fragment(YAML_LIST, tuple(words[texts[0] == "serve" :]), own_flags=own)

    def _words(self, nodes: list[yaml.ScalarNode], used: list[yaml.Node]) -> list[Fragment]:
        """What a list of words starts by itself."""
        words = [word(one, self.source) for one in nodes]
        found = list(started_by(words, YAML_SHELL, lambda number: inner(nodes[number], self.source)))
        direct = front_end([one.text for one in words])
        if direct is None:
            return found
        arguments = tuple(words[direct.arguments :])
        own = names.own_flags(arguments) if direct.kind == "wrapper" else ()
        start = _start(arguments, nodes[direct.arguments :], used, self.source)
        return [Fragment(YAML_LIST, arguments, command=words[direct.program].mark, own_flags=own, start=start)]

    def _string(self, used: list[yaml.Node], serves: bool) -> Iterator[Fragment]:
        """What a command that is one string starts: an image's own server with these words, or what it names."""
        last = used[-1]
        if not isinstance(last, yaml.ScalarNode):
            return
        text = inner(last, self.source)
        if serves and not _STARTS.search(text.text):
            words = shell.words_of(text)
            if words and (is_flag(words[0].text) or any(word.text.startswith("--") for word in words[1:])):
                self.seen.add(id(last))
                yield Fragment(YAML_FLAGS, words)

    def _list(self, node: yaml.SequenceNode, around: Sequence[yaml.Node]) -> Iterator[Fragment]:
        """A list of words under any key, or kustomize's operations on one."""
        if not node.value:
            return
        if _is_words(node) and is_flag(text_of(node.value[0])):
            words = [word(one, self.source) for one in scalars(node)]
            texts = [one.text for one in words]
            image = text_of(image_of(around))
            own_image = docker_run.serves(image)
            if (own_image and _are_arguments(words) and names.tells(map(names.name_of, texts))) or self._by_names(
                words, image, True, around
            ):
                self.seen.update(map(id, node.value))
                yield self._fragment(words, around)
        elif isinstance(node.value[0], yaml.MappingNode) and get(node.value[0], "op"):
            yield from self._operations(node)

    def _operations(self, node: yaml.SequenceNode) -> Iterator[Fragment]:
        """The words that JSON patches put into a container's arguments."""
        values = [
            value
            for one in node.value
            for value in [get(one, "value")]
            if isinstance(value, yaml.ScalarNode) and re.search(r"/(?:args|command)/", text_of(get(one, "path")))
        ]
        words = [one for value in values for one in shell.words_of(inner(value, self.source))]
        if names.are_the_engines([one.text for one in words]):
            self.seen.update(map(id, values))
            yield Fragment(YAML_FLAGS, tuple(words))

    def _scalar(self, node: yaml.ScalarNode) -> Iterator[Fragment]:
        """A string that is a shell text, holds YAML of its own, or flags."""
        value = str(node.value)
        if len(value) < 12 or node.start_mark.index == node.end_mark.index:
            return
        if (
            "\n" in value
            and self.deep < 3
            and re.search(r"^\s*-?\s*[\w.\"'-]+:(?:\s|$)", value, re.M)
            and not _STARTS.match(value)
        ):
            found = list(find_in(inner(node, self.source), self.name, self.deep + 1))
            if found:
                yield from found
                return
        if _STARTS.search(value):
            yield from shell.find_in(inner(node, self.source), YAML_SHELL)
        elif is_flag(value.lstrip().partition(" ")[0]) and " " in value:
            words = shell.words_of(inner(node, self.source))
            if names.are_the_engines([one.text for one in words]):
                yield Fragment(YAML_FLAGS, words)


def _is_words(node: yaml.Node) -> bool:
    return (
        isinstance(node, yaml.SequenceNode)
        and bool(node.value)
        and all(isinstance(one, yaml.ScalarNode) for one in node.value)
    )


def _are_arguments(words: Sequence[Word]) -> bool:
    return is_flag(words[0].text) or any(one.text.startswith("--") for one in words)


def _is_wrapped(texts: Sequence[str], around: Sequence[yaml.Node]) -> bool:
    """Whether words are those of KServe's server, which passes the engine's flags on."""
    says = "--backend=vllm" in texts or any(get(node, "modelFormat", "name") is not None for node in around)
    own = any(text.startswith(("--model_name", "--model_id", "--model_dir")) for text in texts)
    return says and own and names.tells(map(names.name_of, filter(is_flag, texts))) > 0


def _start(
    arguments: tuple[Word, ...], nodes: list[yaml.ScalarNode], used: list[yaml.Node], source: Source
) -> Mark | None:
    """Where a place begins whose model stands in one list and whose flags in the next."""
    first = next((i for i, one in enumerate(arguments) if is_flag(one.text)), None)
    if not first:
        return None
    lists = [next((k for k, part in enumerate(used) if one in items(part)), 0) for one in nodes[: first + 1]]
    later = next((i for i in range(first + 1) if lists[i] == lists[first]), first)
    return arguments[later].mark if lists[0] != lists[first] else None


def _holds_arguments(key: str, node: yaml.MappingNode) -> bool:
    """Whether a mapping under a key is one of engine arguments: the key says so and keys of it are such."""
    known = [one.value for one, _ in pairs(node) if names.name_of(one.value) in names.every_flag()]
    return bool(_ARGUMENTS.fullmatch(key.replace("-", "_")) and known)


def _of_mapping(node: yaml.MappingNode, source: Source, wrapped: bool) -> Fragment:
    entries = tuple(_entry(key, value, source) for key, value in pairs(node))
    strange = [one.key for one in entries if names.name_of(one.key.text) not in names.every_flag()]
    own = tuple(one for one in strange if wrapped and not one.text.startswith("no-"))
    return Fragment(YAML_MAPPING, entries=entries, own_flags=own)


def _entry(key: yaml.ScalarNode, value: yaml.Node, source: Source) -> Entry:
    said = word(value, source) if isinstance(value, yaml.ScalarNode) else Word("", source.at(value.start_mark.index))
    return Entry(word(key, source), said._replace(text=written(value, source)), plain(value))
