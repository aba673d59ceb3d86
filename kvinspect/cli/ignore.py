"""A .gitignore as one automaton: a path is read once, byte by byte, whatever the patterns are.

The rules are git's (`dir.c`, `wildmatch.c`): the last pattern that matches decides, a pattern without a slash is held
against names, and what git lets pass without a match (`[a-`, a backslash at the end) matches nothing here.

States are the bits of an integer, those of one pattern beside those of the next: bit i is set where i tokens have been
read. A star keeps its state; a token that accepts the next byte sets the bit after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

SLASH, STAR, BACKSLASH = b"/*\\"
ALL = frozenset(range(256))
NOT_SLASH = ALL - {SLASH}


class Token(NamedTuple):
    """A place of a pattern: the bytes that lead on from it, and the bytes that may be passed over while there."""

    leads_on: frozenset[int] = frozenset()
    stays: str = ""
    """"" for none, `name` for all but a slash, `all`."""
    may_skip: bool = False
    """Whether the place after it is reached with it: `**/` may stand for nothing."""


class Pattern(NamedTuple):
    """A line: its tokens, the last of which is the end."""

    tokens: tuple[Token, ...]
    is_negated: bool
    only_folders: bool
    of_names: bool
    """Whether it is held against the last part of a path."""


class Rules:
    """The patterns of a file, and whether they ignore a path below its folder."""

    def __init__(self, text: bytes) -> None:
        patterns = list(patterns_of(text))
        self._names = _Automaton([(i, p) for i, p in enumerate(patterns) if p.of_names])
        self._paths = _Automaton([(i, p) for i, p in enumerate(patterns) if not p.of_names])
        self._negated = [pattern.is_negated for pattern in patterns]

    def ignore(self, path: bytes, is_folder: bool) -> bool | None:
        """Whether a path is ignored, None where no pattern says anything about it."""
        found = max(self._names.last(path.rpartition(b"/")[2], is_folder), self._paths.last(path, is_folder))
        return None if found < 0 else not self._negated[found]


class _Automaton:
    """Patterns side by side."""

    def __init__(self, patterns: list[tuple[int, Pattern]]) -> None:
        places = [token for _, pattern in patterns for token in pattern.tokens]
        width = len(places) // 8 + 1
        self._leads_on = _by_byte(width, [token.leads_on for token in places])
        self._skips = _bits(width, (at for at, token in enumerate(places) if token.may_skip))
        self._stays_on_slash = _bits(width, (at for at, token in enumerate(places) if token.stays == "all"))
        self._stays = _bits(width, (at for at, token in enumerate(places) if token.stays))
        starts, ends, at = [], {}, 0
        for index, pattern in patterns:
            starts.append(at)
            at += len(pattern.tokens)
            ends[at - 1] = (index, pattern.only_folders)
        self._start = self._entered(_bits(width, starts))
        self._index = {end: index for end, (index, _) in ends.items()}
        self._ends = _bits(width, ends)
        self._ends_of_files = _bits(width, (end for end, (_, only_folders) in ends.items() if not only_folders))

    def _entered(self, states: int) -> int:
        return states | (states & self._skips) << 1

    def last(self, path: bytes, is_folder: bool) -> int:
        """The number of the last pattern that matches, -1 where none does."""
        states = self._start
        for byte in path:
            if not states:
                return -1
            stays = self._stays_on_slash if byte == SLASH else self._stays
            states = self._entered((states & self._leads_on[byte]) << 1) | states & stays
        found = states & (self._ends if is_folder else self._ends_of_files)
        return self._index[found.bit_length() - 1] if found else -1


def _by_byte(width: int, sets: list[frozenset[int]]) -> dict[int, int]:
    """Byte → the places whose set holds it. Of a set of most bytes those are counted that it leaves out."""
    places: dict[frozenset[int], list[int]] = {}
    for at, accepts in enumerate(sets):
        places.setdefault(accepts, []).append(at)
    wide = _bits(width, (at for accepts, ats in places.items() if len(accepts) > 128 for at in ats))
    found = dict.fromkeys(range(256), wide)
    for accepts, ats in places.items():
        mask = _bits(width, ats)
        for byte in ALL - accepts if len(accepts) > 128 else accepts:
            found[byte] ^= mask
    return found


def _bits(width: int, places: Iterable[int]) -> int:
    bits = bytearray(width)
    for at in places:
        bits[at >> 3] |= 1 << (at & 7)
    return int.from_bytes(bits, "little")


def patterns_of(text: bytes) -> Iterator[Pattern]:
    """The patterns of a file that can match at all, in their order."""
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        # git reads a line as a C string: a zero byte ends it.
        body = _trimmed(line.removesuffix(b"\r").partition(b"\0")[0])
        if body.startswith(b"#"):
            continue
        is_negated, body = body.startswith(b"!"), body.removeprefix(b"!")
        only_folders, body = body.endswith(b"/"), body.removesuffix(b"/")
        of_names = b"/" not in body
        tokens = _tokens(body.removeprefix(b"/"), of_names) if body else None
        if tokens is not None:
            yield Pattern(tokens, is_negated, only_folders, of_names)


def _trimmed(line: bytes) -> bytes:
    """A line without the spaces at its end, but for one behind a backslash."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 else bare


def _tokens(body: bytes, of_names: bool) -> tuple[Token, ...] | None:
    """The places of a pattern, None where it can match nothing."""
    literal = next((at for at, byte in enumerate(body) if byte in b"*?[\\"), len(body))
    found: list[Token] = []
    stays, at = "", 0
    while at < len(body):
        if body[at] == STAR:
            start, at = at, _end_of_stars(body, at)
            after = body[at : at + 2]
            # git cuts what stands before the first wildcard, so that two stars behind it are at a beginning too.
            is_whole = start == literal or body[start - 1] == SLASH
            spans = at - start > 1 and is_whole and (not after or after[0] == SLASH or after == b"\\/")
            stays = "all" if spans and not of_names else "name"
            if stays == "all" and after[:1] == b"/":
                at, stays = at + 1, ""
                if found[-1:] != [ANY_FOLDERS]:
                    found.append(ANY_FOLDERS)
            continue
        accepts, at = _one(body, at)
        if not accepts:
            return None
        found.append(Token(accepts, stays))
        stays = ""
    return (*found, Token(stays=stays))


ANY_FOLDERS = Token(frozenset((SLASH,)), "all", may_skip=True)


def _end_of_stars(body: bytes, at: int) -> int:
    while at < len(body) and body[at] == STAR:
        at += 1
    return at


def _one(body: bytes, at: int) -> tuple[frozenset[int], int]:
    """(the bytes that a character, `?`, escape or set accepts, where the next begins); no bytes where it is broken."""
    if body[at] == ord("?"):
        return NOT_SLASH, at + 1
    if body[at] == ord("["):
        return _set(body, at + 1)
    if body[at] == BACKSLASH:
        return frozenset(body[at + 1 : at + 2]), at + 2
    return frozenset(body[at : at + 1]), at + 1


_CLASSES: Mapping[bytes, Callable[[str], bool]] = {
    b"alnum": str.isalnum,
    b"alpha": str.isalpha,
    b"blank": lambda char: char in " \t",
    b"cntrl": lambda char: not char.isprintable(),
    b"digit": str.isdigit,
    b"graph": lambda char: char.isprintable() and char != " ",
    b"lower": str.islower,
    b"print": str.isprintable,
    b"punct": lambda char: char.isprintable() and not char.isalnum() and char != " ",
    b"space": lambda char: char in " \t\n\v\f\r",
    b"upper": str.isupper,
    b"xdigit": lambda char: char in "0123456789abcdefABCDEF",
}
"""Name between `[:` and `:]` → whether it holds an ASCII character."""


def _set(body: bytes, at: int) -> tuple[frozenset[int], int]:
    """The bytes of a set whose inside begins at `at`, and where it ends; no bytes where it does not end."""
    broken: tuple[frozenset[int], int] = frozenset(), len(body)
    is_negated = body[at : at + 1] in (b"!", b"^")
    at += is_negated
    accepts: set[int] = set()
    before, start = -1, at
    while at < len(body) and (body[at] != ord("]") or at == start):
        if body[at : at + 2] == b"[:" and (end := body.find(b"]", at + 2)) != at + 2:
            if end < 0:
                return broken
            if body[end - 1] == ord(":"):
                name = body[at + 2 : end - 1]
                if name not in _CLASSES:
                    return broken
                accepts |= {byte for byte in range(128) if _CLASSES[name](chr(byte))}
                before, at = -1, end + 1
                continue
        is_range = body[at] == ord("-") and before > 0 and body[at + 1 : at + 2] not in (b"", b"]")
        at += is_range
        at += body[at] == BACKSLASH
        if at >= len(body):
            return broken
        accepts |= set(range(before, body[at] + 1)) if is_range else {body[at]}
        before, at = (-1 if is_range else body[at]), at + 1
    if at >= len(body):
        return broken
    return (NOT_SLASH - accepts if is_negated else frozenset(accepts) & NOT_SLASH), at + 1
