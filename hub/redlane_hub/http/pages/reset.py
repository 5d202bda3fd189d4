"""The page that a reset mail links to; it works without scripts.

The token is in the address that was opened and in a field of the form, and goes nowhere
else: no link, no log, no referrer, no cache.
"""

from dataclasses import dataclass
from urllib.parse import parse_qsl

from redlane_hub.errors import BusyError, InvalidInputError
from redlane_hub.http.operations import Access, Call, Operation, Raw, Sent, operation
from redlane_hub.http.pages.rendering import Renderer
from redlane_hub.services.resets import Resets

__all__ = ["ResetLink", "ResetPages"]

_FORM = "application/x-www-form-urlencoded"
_MOST_BYTES = 8192
"""Room for the longest token and password with every byte percent-encoded."""

_MOST_FIELDS = 8


@dataclass(frozen=True, slots=True)
class ResetLink:
    """What the link of a reset mail carries."""

    token: str = ""


class ResetPages:
    """`/reset-password`."""

    def __init__(self, renderer: Renderer, resets: Resets) -> None:
        self._renderer = renderer
        self._resets = resets

    @operation(
        Operation(
            "GET",
            "/reset-password",
            Access.ANYONE,
            "The form that a reset mail links to",
            query=ResetLink,
            tag="pages",
        )
    )
    def form(self, call: Call[None, ResetLink]) -> Raw:
        """Show the form; whether the token is live shows when it is redeemed."""
        if not call.query.token:
            return self._renderer.message(
                "This link is not complete",
                "Open the link from the mail again, or copy all of it.",
                status=400,
            )
        return self._form(call.query.token)

    @operation(
        Operation(
            "POST",
            "/reset-password",
            Access.ANYONE,
            "Set a new password",
            body=Sent,
            tag="pages",
        )
    )
    def confirm(self, call: Call[Sent, None]) -> Raw:
        """Redeem the token, or show what is wrong next to the field."""
        fields = _fields(call.body)
        token, new_password = fields.get("token", ""), fields.get("new_password", "")
        try:
            self._resets.confirm(token, new_password)
        except InvalidInputError as error:
            problem = str(error).replace("'new_password'", "A password")
            return self._form(token, problem, status=400)
        except BusyError as error:
            return self._form(token, str(error), status=429)
        return self._renderer.message(
            "Your password was changed",
            "Log in with the new one: redlane hub login",
            "Whoever is logged in already stays so until their token expires.",
        )

    def _form(self, token: str, problem: str | None = None, status: int = 200) -> Raw:
        return self._renderer.page("reset.html", status, token=token, problem=problem)


def _fields(sent: Sent) -> dict[str, str]:
    """The form's fields; none of what is no form."""
    media_type = sent.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _FORM or len(sent.data) > _MOST_BYTES:
        return {}
    try:
        pairs = parse_qsl(
            sent.data.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        return {}
    fields = dict(pairs)
    # Which of two passwords would be set, nobody could tell.
    return fields if len(fields) == len(pairs) else {}
