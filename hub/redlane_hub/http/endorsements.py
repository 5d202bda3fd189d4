"""Endorsing artifacts (hub API: Endorsements)."""

from dataclasses import dataclass

from redlane_hub.http.operations import Access, Call, Link, Operation, operation
from redlane_hub.model import Endorsement, Level
from redlane_hub.services.endorsements import Endorsements
from redlane_hub.wire.forms import described

__all__ = ["EndorsementResource"]


@dataclass(frozen=True, slots=True)
class EndorsementForm:
    """An account's word for an artifact."""

    id: str = described("the endorsement's id", format="uuid")
    artifact_id: str = described("what is endorsed", format="uuid")
    user_id: str = described("who endorses it", format="uuid")
    email: str = described("the endorser's address, as it is today")
    user_is_endorsed: bool = described("whether that is a recognised publisher")
    level: Level = described("how far the endorser goes")
    created_at: str = described("when it was given", format="date-time")


@dataclass(frozen=True, slots=True)
class NewEndorsement:
    """An endorsement to give."""

    level: Level = described("how far you go", default=Level.VERIFIED)


class EndorsementResource:
    """The endorsements of one artifact."""

    def __init__(self, endorsements: Endorsements) -> None:
        self._endorsements = endorsements

    @operation(
        Operation(
            "POST",
            "/api/v1/artifacts/{artifact_id}/endorsements",
            Access.APPROVED,
            "Endorse an artifact",
            status=201,
            body=NewEndorsement,
            returns=EndorsementForm,
            errors=(400, 404, 409, 413, 415),
            tag="endorsements",
            links=(
                Link(
                    "withdraw_endorsement",
                    {"artifact_id": "artifact_id", "endorsement_id": "id"},
                ),
            ),
        )
    )
    def endorse(self, call: Call[NewEndorsement, None]) -> EndorsementForm:
        """Endorse an artifact, once; whether the caller can read it is not asked."""
        made = self._endorsements.endorse(
            call.path["artifact_id"], call.account, call.body.level
        )
        return _form(made)

    @operation(
        Operation(
            "GET",
            "/api/v1/artifacts/{artifact_id}/endorsements",
            Access.ANYONE,
            "List an artifact's endorsements",
            returns=tuple[EndorsementForm, ...],
            errors=(404,),
            tag="endorsements",
        )
    )
    def list_endorsements(self, call: Call[None, None]) -> list[EndorsementForm]:
        """List them all, newest first."""
        return [_form(each) for each in self._endorsements.of(call.path["artifact_id"])]

    @operation(
        Operation(
            "DELETE",
            "/api/v1/artifacts/{artifact_id}/endorsements/{endorsement_id}",
            Access.ACCOUNT,
            "Withdraw an endorsement",
            status=204,
            errors=(404,),
            tag="endorsements",
        )
    )
    def withdraw_endorsement(self, call: Call[None, None]) -> None:
        """Withdraw one's own; somebody else's is a 401."""
        path = call.path
        self._endorsements.withdraw(
            path["artifact_id"], path["endorsement_id"], call.account.id
        )


def _form(made: Endorsement) -> EndorsementForm:
    return EndorsementForm(
        made.id,
        made.artifact_id,
        made.user_id,
        made.email,
        made.user_is_endorsed,
        made.level,
        made.created_at,
    )
