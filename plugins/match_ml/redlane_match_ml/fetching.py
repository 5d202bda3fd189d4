"""Files over HTTP: with what has come already, within a size, and no other redirect."""

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from redlane_match_ml.errors import SourceError

__all__ = ["Progress", "fetch", "read", "too_long"]

Progress = Callable[[str, int, int | None], None]
"""Told of a file's name, how much of it has come, and how much there is, if known."""

_SECONDS = 60
_PIECE = 256 * 1024
_MOST_JSON = 8 * 1024 * 1024
_AGENT = {"User-Agent": "redlane"}
_LENGTH = re.compile("[0-9]{1,18}")
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)")
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
        fp.close()  # it would be read to its end, however long it is
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after != "https" and not before == after == "http":
            wrong = f"{req.full_url} leads to {newurl}, which is not safe"
            raise SourceError(wrong, is_refused=True)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def read(url: str) -> bytes:
    """What an address answers, a few megabytes at most; raises SourceError."""
    data = bytearray()
    with _opened(url, {}) as answer:
        for piece in _pieces(answer, url):
            data += piece
            if len(data) > _MOST_JSON:
                raise SourceError(f"{url}: the answer is too long")
    return bytes(data)


def fetch(
    url: str, to: Path, most: int, progress: Callable[[int, int | None], None]
) -> None:
    """Have all of a file in `to`, of which a beginning may be there.

    Raises SourceError; what has come stays, so that the next time goes on from there.
    """
    begun = to.stat().st_size if to.exists() else 0
    headers = {"Range": f"bytes={begun}-"} if begun else {}
    with _opened(url, headers) as answer:
        if answer.status == _RANGE_WRONG:
            return
        begun, whole = _place(answer, begun, to)
        if whole is not None and whole > most:
            raise too_long(url, most)
        with to.open("r+b" if begun else "wb") as file:
            file.seek(begun)
            for piece in _pieces(answer, url):
                begun += len(piece)
                if begun > most:
                    raise too_long(url, most)
                file.write(piece)
                progress(begun, whole)
    if whole is not None and begun != whole:
        raise SourceError(f"{url}: only {begun} of {whole} bytes have come: pull again")


def too_long(what: str, most: int) -> SourceError:
    """What is wrong with something of more bytes than may come."""
    wrong = f"it is longer than the {most} bytes that may come"
    return SourceError(f"{what}: {wrong}", is_refused=True)


def _opened(url: str, headers: Mapping[str, str]) -> Any:  # noqa: ANN401  # urllib's
    try:
        if urlsplit(url).scheme not in ("http", "https"):
            raise SourceError(f"{url}: neither http nor https", is_refused=True)
        request = urllib.request.Request(url, headers={**_AGENT, **headers})  # noqa: S310  # checked
        opener = urllib.request.build_opener(_SameOrSafer)
        return opener.open(request, timeout=_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == _RANGE_WRONG and headers:
            return error
        raise SourceError(
            f"{url}: status {error.code} {error.reason}", is_refused=True
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise SourceError(f"{url} cannot be reached: {reason}") from error
    except ValueError as error:
        raise SourceError(f"{url}: no address: {error}", is_refused=True) from error


def _pieces(answer: Any, url: str) -> Iterator[bytes]:  # noqa: ANN401  # urllib's
    """What comes, as it comes: whoever sends says in vain how much is to be held."""
    try:
        while piece := answer.read1(_PIECE):
            yield bytes(piece)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SourceError(
            f"{url}: the connection was lost, pull again: {error}"
        ) from error


def _place(answer: Any, begun: int, to: Path) -> tuple[int, int | None]:  # noqa: ANN401  # urllib's
    """Where what comes begins, and how long the whole file is, if that is told.

    Raises SourceError for another piece than was asked for, after which all is asked.
    """
    if answer.status != _PARTIAL:
        length = answer.headers.get("Content-Length", "")
        return 0, int(length) if _LENGTH.fullmatch(length) else None
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if found is None or int(found[1]) != begun:
        to.unlink(missing_ok=True)
        raise SourceError(f"{answer.url}: another piece came than was asked for")
    return begun, None if found[2] == "*" else int(found[2])
