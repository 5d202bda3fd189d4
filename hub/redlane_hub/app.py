"""One process of the hub, built from its collaborators; nothing else wires them."""

from collections.abc import Iterable
from wsgiref.types import WSGIApplication

import falcon

from redlane_hub.clock import Clock, system_clock
from redlane_hub.conformance import SchemaChecker
from redlane_hub.http.accounts import AccountResource
from redlane_hub.http.billing import Checkout, PaymentWebhook
from redlane_hub.http.catalogue import ArtifactResource, SearchResource
from redlane_hub.http.endorsements import EndorsementResource
from redlane_hub.http.endpoint import Authenticator, Endpoint, falcon_resource
from redlane_hub.http.errors import add_error_handlers
from redlane_hub.http.health import Health
from redlane_hub.http.keys import KeyResource
from redlane_hub.http.openapi import Documentation
from redlane_hub.http.operations import Bound, operations_of
from redlane_hub.http.pages.site import pages
from redlane_hub.http.publishing import PublishingResource
from redlane_hub.http.resets import ResetResource
from redlane_hub.http.routing import QuickPaths, Route, Router, routes
from redlane_hub.http.shield import shielded
from redlane_hub.mail.smtp import SmtpMailer
from redlane_hub.payments.stripe import Stripe
from redlane_hub.security.passwords import Passwords
from redlane_hub.security.ratelimit import RateLimiter
from redlane_hub.security.secrets import load_secrets
from redlane_hub.security.tokens import Tokens
from redlane_hub.services.accounts import Accounts
from redlane_hub.services.billing import Billing
from redlane_hub.services.catalogue import Catalogue
from redlane_hub.services.dependencies import Dependencies
from redlane_hub.services.downloads import Downloads
from redlane_hub.services.endorsements import Endorsements
from redlane_hub.services.keys import Keys
from redlane_hub.services.pending import PendingCounts
from redlane_hub.services.publishing import Publishing
from redlane_hub.services.reset_mail import ResetMailWorker
from redlane_hub.services.resets import Resets
from redlane_hub.services.viewing import Viewing
from redlane_hub.services.yanking import Yanking
from redlane_hub.settings import Settings
from redlane_hub.store import gauges
from redlane_hub.store.database import Database

__all__ = ["FalconApp", "Hub", "falcon_app"]

FalconApp = falcon.App[falcon.Request, falcon.Response]

_LARGEST_ESCAPE = 8
"""A byte of content may be sent as `\\u0000`, in JSON that is escaped once more."""

_ROOM_FOR_THE_REST = 1024 * 1024


class Hub:
    """Everything that one process consists of: `app`, and what works behind it.

    The database must be migrated (`store.migrations.migrate`). Processes that serve
    together share one `limiter` and the counts of `downloads`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock = system_clock,
        limiter: RateLimiter | None = None,
        downloads: PendingCounts | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._database = Database(settings.database_path)
        secrets = load_secrets(settings)
        self._passwords = Passwords()
        self._tokens = Tokens(secrets.token, clock)
        self._accounts = Accounts(self._database, clock, self._passwords, self._tokens)
        self._billing = Billing(
            self._database, clock, secrets.subscription_seed, Stripe(settings)
        )
        self._keys = Keys(self._database, clock)
        self._checker = SchemaChecker()
        self._publishing = Publishing(self._database, clock, self._checker, settings)
        self._worker = _worker(settings, self._database, clock)
        self._resets = Resets(
            self._database,
            clock,
            self._passwords,
            configured=self._worker is not None,
            wake=self._worker.wake if self._worker else lambda: None,
        )
        self._downloads = Downloads(settings.database_path, downloads)
        self._catalogue = Catalogue(self._database, self._downloads)
        self._dependencies = Dependencies(self._database)
        self._yanking = Yanking(self._database)
        self._endorsements = Endorsements(self._database, clock)
        self._viewing = Viewing(self._database, self._catalogue, self._endorsements)
        self._limiter = limiter or RateLimiter()
        resources = self.resources()
        self.operations = [
            each.declared.title for one in resources for each in operations_of(one)
        ]
        self.quick_paths = QuickPaths(
            routes(each for one in resources for each in operations_of(one))
        )
        self.app = falcon_app(resources, self._accounts, self.largest_body)

    @property
    def wsgi(self) -> WSGIApplication:
        """The whole application, with the layers in front of `app`."""
        return shielded(self.app, self._limiter, self._settings.trusted_proxies)

    @property
    def largest_body(self) -> int:
        """How many bytes a request's body may have."""
        return _LARGEST_ESCAPE * self._settings.max_content_bytes + _ROOM_FOR_THE_REST

    def resources(self) -> list[object]:
        """The HTTP resources, each with its services."""
        served: list[object] = [
            Health(),
            AccountResource(self._accounts),
            Checkout(self._billing),
            PaymentWebhook(self._billing),
            ResetResource(self._resets),
            KeyResource(self._keys),
            PublishingResource(self._publishing),
            SearchResource(self._catalogue),
            ArtifactResource(self._catalogue, self._dependencies, self._yanking),
            EndorsementResource(self._endorsements),
            *pages(self._settings.base_url, self._viewing, self._resets),
        ]
        operations = [each for one in served for each in operations_of(one)]
        return [*served, Documentation(operations, self._settings.base_url)]

    def gauges(self) -> dict[str, tuple[str, float]]:
        """What an operator watches: a name, what it is, and how much of it there is."""
        connection = self._database.reading()
        waiting = gauges.mails_waiting(connection)
        return {
            "mail_queue_length": ("Reset requests to deal with.", float(waiting)),
            "database_bytes": (
                "Size of the database, without its log.",
                float(gauges.size(connection)),
            ),
        }

    def start(self) -> None:
        """Start what works in the background."""
        self._checker.start()
        self._downloads.start()
        if self._worker is not None:
            self._worker.start()

    def stop(self) -> None:
        """Finish what works in the background, and let go of the database."""
        if self._worker is not None:
            self._worker.stop()
        self._checker.stop()
        self._downloads.stop()
        self._passwords.close()
        self._database.close()


def _worker(
    settings: Settings, database: Database, clock: Clock
) -> ResetMailWorker | None:
    """Who sends the reset mails, where there is a mail server."""
    if not settings.smtp_url:
        return None
    mailer = SmtpMailer(settings, clock=clock)
    return ResetMailWorker(database, clock, mailer, settings.base_url)


def falcon_app(
    resources: Iterable[object], authenticator: Authenticator, largest_body: int
) -> FalconApp:
    """A Falcon application that serves the operations of all resources."""
    app = falcon.App(router=Router())
    app.req_options.strip_url_path_trailing_slash = False
    add_error_handlers(app)

    def endpoint(route: Route, bound: Bound) -> Endpoint:
        return Endpoint(route, bound, authenticator, largest_body)

    operations = [each for resource in resources for each in operations_of(resource)]
    for route in routes(operations):
        app.add_route(route.template, falcon_resource(route, endpoint))
    return app
