"""The capabilities of the calling thread."""

import ctypes
import os
import struct

__all__ = ["set_capabilities"]

_VERSION_3 = 0x20080522
_HEADER = struct.Struct("=Ii")
_DATA = struct.Struct("=6I")
_LOW = 0xFFFFFFFF

_LIBRARY = ctypes.CDLL(None, use_errno=True)
# Unlike the set*id functions, the C library's capset changes the calling thread alone.
_capset = _LIBRARY.capset
_capset.argtypes = (ctypes.c_char_p, ctypes.c_char_p)


def set_capabilities(effective: int, permitted: int, inheritable: int) -> None:
    """Set the three sets, as masks of bits; PermissionError for what is not permitted.

    Only the effective ones can be had back, as far as they are permitted.
    """
    sets = (effective, permitted, inheritable)
    low, high = [each & _LOW for each in sets], [each >> 32 for each in sets]
    if _capset(_HEADER.pack(_VERSION_3, 0), _DATA.pack(*low, *high)) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
