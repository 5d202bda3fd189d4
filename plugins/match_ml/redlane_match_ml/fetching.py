"""Files over HTTP: with what has come already, within a size, and no other redirect."""

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from redlane_match_ml.errors import SourceError

__all__ = ["Progress", "fetch", "read"]

Progress = Callable[[str, int, int | None], None]
"""Told of a file's name, how much of it has come, and how much there is, if known."""

_SECONDS = 60
_PIECE = 256 * 1024
_MOST_JSON = 8 * 1024 * 1024
_AGENT = {"User-Agent": "redlane"}
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
_PARTIAL, _RANGE_WRONG = 206, 416


class _SameOrSafer(urllib.request.HTTPRedirectHandler):
    """Follows to HTTPS, and to HTTP from there alone."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after != "https" and not before == after == "http":
            raise SourceError(f"{req.full_url} leads to {newurl}, which is not safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def read(url: str) -> bytes:
    """What an address answers, a few megabytes at most; raises SourceError."""
    with _opened(url, {}) as answer:
        data = _read(answer, url, _MOST_JSON + 1)
    if len(data) > _MOST_JSON:
        raise SourceError(f"{url}: the answer is too long")
    return data


def fetch(url: str, to: Path, most: int, progress: Progress) -> None:
    """Have all of a file in `to`, of which a beginning may be there.

    Raises SourceError; what has come stays, so that the next time goes on from there.
    """
    begun = to.stat().st_size if to.exists() else 0
    headers = {"Range": f"bytes={begun}-"} if begun else {}
    with _opened(url, headers) as answer:
        if answer.status == _RANGE_WRONG:
            return
        if answer.status != _PARTIAL:
            begun = 0
        whole = _whole(answer, begun)
        if whole is not None and whole > most:
            raise _too_long(url, most)
        with to.open("r+b" if begun else "wb") as file:
            file.seek(begun)
            while piece := _read(answer, url, _PIECE):
                begun += len(piece)
                if begun > most:
                    raise _too_long(url, most)
                file.write(piece)
                progress(to.name, begun, whole)
    if whole is not None and begun != whole:
        raise SourceError(f"{url}: only {begun} of {whole} bytes have come: pull again")


def _too_long(url: str, most: int) -> SourceError:
    wrong = f"it is longer than the {most} bytes that may come"
    return SourceError(f"{url}: {wrong}", is_refused=True)


def _opened(url: str, headers: Mapping[str, str]) -> Any:  # noqa: ANN401  # urllib's
    if urlsplit(url).scheme not in ("http", "https"):
        raise SourceError(f"{url}: neither http nor https")
    request = urllib.request.Request(url, headers={**_AGENT, **headers})  # noqa: S310  # checked
    opener = urllib.request.build_opener(_SameOrSafer)
    try:
        return opener.open(request, timeout=_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == _RANGE_WRONG:
            return error
        raise SourceError(
            f"{url}: status {error.code} {error.reason}", is_refused=True
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise SourceError(f"{url} cannot be reached: {reason}") from error


def _read(answer: Any, url: str, most: int) -> bytes:  # noqa: ANN401  # urllib's
    try:
        data = answer.read(most)
    except http.client.IncompleteRead as error:
        return error.partial
    except (OSError, http.client.HTTPException) as error:
        raise SourceError(f"{url}: the connection was lost: {error}") from error
    return bytes(data)


def _whole(answer: Any, begun: int) -> int | None:  # noqa: ANN401  # urllib's
    """How long the whole file is; raises SourceError for another piece of it."""
    if answer.status == _PARTIAL:
        found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if found is None or int(found[1]) != begun:
            raise SourceError(f"{answer.url}: another piece came than was asked for")
        return int(found[2])
    length = answer.headers.get("Content-Length", "")
    return int(length) if length.isdigit() else None
