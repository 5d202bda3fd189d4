"""A secret locked with a passphrase: Argon2id makes a key of it, XSalsa20 encrypts."""

from base64 import b64decode, b64encode
from collections.abc import Mapping

from redlane.errors import RedlaneError

__all__ = ["lock", "unlock"]

_MOST_MEMORY = 1024**3
_MOST_OPERATIONS = 16


def lock(secret: bytes, passphrase: str) -> dict[str, object]:
    """The secret as it can be kept: JSON that is of no use without the passphrase."""
    from nacl import pwhash, utils  # noqa: PLC0415  # loads a library

    argon = pwhash.argon2id
    salt = utils.random(argon.SALTBYTES)
    numbers = argon.OPSLIMIT_MODERATE, argon.MEMLIMIT_MODERATE
    box = _box(passphrase, salt, *numbers).encrypt(secret)
    return {
        "salt": b64encode(salt).decode(),
        "operations": numbers[0],
        "memory": numbers[1],
        "box": b64encode(bytes(box)).decode(),
    }


def unlock(locked: Mapping[object, object], passphrase: str) -> bytes:
    """What was locked; raises RedlaneError for another passphrase, or for nonsense."""
    from nacl.exceptions import CryptoError  # noqa: PLC0415  # loads a library

    try:
        operations, memory = int(str(locked["operations"])), int(str(locked["memory"]))
        salt, box = b64decode(str(locked["salt"])), b64decode(str(locked["box"]))
    except (KeyError, ValueError) as error:
        raise RedlaneError("the key's file is damaged") from error
    if operations > _MOST_OPERATIONS or memory > _MOST_MEMORY:
        raise RedlaneError("the key's file asks for more memory or time than it may")
    try:
        return bytes(_box(passphrase, salt, operations, memory).decrypt(box))
    except ValueError as error:
        raise RedlaneError("the key's file is damaged") from error
    except RuntimeError as error:
        raise RedlaneError("there is not enough memory to unlock the key") from error
    except CryptoError as error:
        raise RedlaneError("the passphrase is wrong") from error


def _box(passphrase: str, salt: bytes, operations: int, memory: int):  # type: ignore[no-untyped-def]  # noqa: ANN202  # nacl's
    from nacl import pwhash, secret  # noqa: PLC0415  # loads a library

    key = pwhash.argon2id.kdf(
        secret.SecretBox.KEY_SIZE, passphrase.encode(), salt, operations, memory
    )
    return secret.SecretBox(key)
