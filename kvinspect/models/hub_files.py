"""Small files, and parts of large ones, from the Hugging Face Hub: within a bounded time, and nothing is kept."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from kvinspect.document.limits import MAX_BYTES
from kvinspect.document.problem import shortened

SECONDS = 4
"""To wait for the hub, all requests about a model together."""

_WHY = {401: "it is private or does not exist", 403: "access must be requested", 404: "it does not exist"}
_PIECE = 1 << 16


class NotGiven(ValueError):
    """What the hub does not give, or that it could not be asked."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.code = code
        """The status of its answer, None where there was none."""


class Part(NamedTuple):
    """Bytes of a file, and whether they begin where it was asked."""

    data: bytes
    is_part: bool


class HubFiles:
    """The files of one hub id, all of them read within `SECONDS`."""

    def __init__(self, name: str, seconds: float = SECONDS) -> None:
        self.name = name
        self._until = time.monotonic() + seconds

    def text(self, file: str) -> str:
        """A small file. Raises NotGiven."""
        found = self.part(file, 0, MAX_BYTES + 1).data
        if len(found) > MAX_BYTES:
            raise NotGiven(f"its {file} has more than {MAX_BYTES} bytes")
        try:
            return found.decode("utf-8")
        except ValueError:
            raise NotGiven(f"its {file} is no text") from None

    def part(self, file: str, start: int, size: int) -> Part:
        """At most `size` bytes of a file from `start` on, or from its beginning where the hub ignores the range.

        Raises NotGiven.
        """
        return self._answer(f"{self.name}/resolve/main/{file}", size, f"bytes={start}-{start + size - 1}")

    def facts(self, field: str) -> bytes:
        """One field of what the hub knows of the model, as JSON. Raises NotGiven."""
        return self._answer(f"api/models/{self.name}?expand[]={field}", MAX_BYTES).data

    def _answer(self, path: str, size: int, wanted: str = "") -> Part:
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise NotGiven("HF_HUB_OFFLINE forbids asking the hub")
        endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        try:
            if not endpoint.startswith(("https://", "http://")):
                raise ValueError("HF_ENDPOINT is no http address")
            asked = Request(f"{endpoint}/{path}", headers={"User-Agent": "kvinspect"})
            if wanted:
                asked.add_header("Range", wanted)
            if token := os.environ.get("HF_TOKEN"):
                # Large files lie on other machines, which the token is not for.
                asked.add_unredirected_header("Authorization", f"Bearer {token}")
            with urlopen(asked, timeout=self._left()) as answer:
                pieces: list[bytes] = []
                while (left := size - sum(map(len, pieces))) > 0 and (piece := answer.read1(min(left, _PIECE))):
                    pieces.append(piece)
                    self._left()
                return Part(b"".join(pieces), answer.status == 206)
        except HTTPError as error:
            error.close()
            why = _WHY.get(error.code, f"HTTP {error.code}")
            raise NotGiven(f"the Hugging Face Hub does not give it ({why})", error.code) from None
        except (URLError, OSError, ValueError, HTTPException) as error:
            reason = str(getattr(error, "reason", "") or error) or type(error).__name__
            raise NotGiven(f"the Hugging Face Hub could not be reached ({shortened(reason, 80)})") from None

    def _left(self) -> float:
        """Seconds that are left. Raises TimeoutError where none are."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer within {SECONDS} s")
        return left
