"""Publishing artifacts (hub API: Artifacts)."""

from redlane_hub.http.operations import Access, Call, Link, Operation, operation
from redlane_hub.services.publishing import Published, Publishing
from redlane_hub.wire.forms import JsonObject
from redlane_hub.wire.publishing import Member, PublishedForm, PublishForm

__all__ = ["PublishingResource"]


_AT = {"name": "name", "version": "version"}
_BY_ID = {"artifact_id": "id"}


class PublishingResource:
    """`POST /api/v1/artifacts`."""

    def __init__(self, publishing: Publishing) -> None:
        self._publishing = publishing

    @operation(
        Operation(
            "POST",
            "/api/v1/artifacts",
            Access.APPROVED,
            "Publish an artifact",
            status=201,
            body=PublishForm,
            returns=PublishedForm,
            errors=(400, 409, 413, 415),
            takes_many_values=True,
            links=(
                *(Link(each, _AT) for each in ("fetch", "members", "resolve")),
                *(
                    Link(each, _BY_ID)
                    for each in ("yank", "unyank", "endorse", "list_endorsements")
                ),
            ),
        )
    )
    def publish(self, call: Call[PublishForm, None]) -> PublishedForm:
        """Publish a new version of an artifact, for good."""
        return _form(self._publishing.publish(call.account, call.body))


def _form(published: Published) -> PublishedForm:
    made = published.artifact
    schema = made.content_schema
    return PublishedForm(
        id=made.id,
        name=made.name,
        version=made.version,
        description=made.description,
        owner=published.owner,
        tags=made.tags,
        visibility=made.visibility,
        downloads=0,
        created_at=published.created_at,
        content_hash=made.content_hash,
        content_schema=None if schema is None else JsonObject(schema),
        signed=made.signature is not None,
        key_fingerprint=made.key_fingerprint,
        dependencies=tuple(
            Member(each.name, each.version, each.required) for each in made.dependencies
        ),
        artifact_type=made.artifact_type,
    )
