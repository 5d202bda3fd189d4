"""Pages by which a person answers a review: links that the webhook tells, used once.

The listener is for this machine alone; what makes it reachable from elsewhere, and adds
TLS, is for whoever sets it up. No process of a session is answered.
"""

from redlane.answering.app import create_answer_app
from redlane.answering.links import AnswerLinks
from redlane.answering.server import AnswerServer

__all__ = ["AnswerLinks", "AnswerServer", "create_answer_app"]
