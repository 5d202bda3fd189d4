"""Where fields lie in the running kernel's structures, as it describes itself (BTF).

Kernels differ in this from build to build. The description is read from
/sys/kernel/btf/vmlinux; only what a lookup by two names takes is understood of it.
"""

import struct
from pathlib import Path

__all__ = ["KernelTypes"]

_HEADER = struct.Struct("=HBBIIIII")
_TYPE = struct.Struct("=III")
_MEMBER = struct.Struct("=III")
_MAGIC = 0xEB9F
_STRUCTURE = 4
_OFFSET_BITS = 0xFFFFFF  # with the kind flag, a bit field's width stands above them
_VMLINUX = Path("/sys/kernel/btf/vmlinux")


class KernelTypes:
    """The structures of a kernel."""

    def __init__(self, data: bytes) -> None:
        """Take a description; raises ValueError for what is none."""
        if len(data) < _HEADER.size:
            raise ValueError("the kernel's description of its types is cut short")
        magic, _, _, header, types, types_size, texts, texts_size = _HEADER.unpack_from(
            data
        )
        if magic != _MAGIC:
            raise ValueError("the kernel's description of its types is no BTF")
        self._types = data[header + types :][:types_size]
        self._texts = data[header + texts :][:texts_size]

    @classmethod
    def of_this_kernel(cls) -> "KernelTypes":
        """What the running kernel tells; raises OSError where it tells nothing."""
        return cls(_VMLINUX.read_bytes())

    def offset(self, structure: str, member: str) -> int:
        """The offset in bytes of a member; raises LookupError for unknown names."""
        name, member_name = self._text(structure), self._text(member)
        wanted = struct.pack("=I", name)
        at = self._types.find(wanted)
        while at >= 0:
            found = self._member(at, member_name) if at % 4 == 0 else None
            if found is not None:
                return found
            at = self._types.find(wanted, at + 1)
        raise LookupError(f"the kernel has no {structure}.{member}")

    def _text(self, text: str) -> int:
        at = self._texts.find(b"\0" + text.encode() + b"\0")
        if at < 0:
            raise LookupError(f"the kernel knows no {text}")
        return at + 1

    def _member(self, at: int, name: int) -> int | None:
        """The offset of a member, if a structure's description begins here."""
        if at + _TYPE.size > len(self._types):
            return None
        _, info, _ = _TYPE.unpack_from(self._types, at)
        if info >> 24 & 0x1F != _STRUCTURE:
            return None
        first = at + _TYPE.size
        members = self._types[first : first + (info & 0xFFFF) * _MEMBER.size]
        if len(members) % _MEMBER.size:
            return None
        for member, _, offset in _MEMBER.iter_unpack(members):
            if member == name:
                return int(offset & _OFFSET_BITS) // 8
        return None
