"""Programs are assembled as the kernel's documentation has them."""

import os
import struct

import pytest

from redlane_context_syscall.ebpf.assembler import (
    Helper,
    Instruction,
    Register,
    add,
    add_in_memory,
    address_of_map,
    assemble,
    call,
    copy,
    end,
    go_to,
    go_to_if_equal,
    go_to_if_greater,
    go_to_if_other,
    load,
    store,
    store_number,
)
from redlane_context_syscall.ebpf.btf import KernelTypes
from redlane_context_syscall.ebpf.marks import Mount, mounts


@pytest.mark.parametrize(
    ("instruction", "encoded"),
    [
        (copy(Register.R6, Register.R1), "bf16000000000000"),
        (copy(Register.R0, 1), "b700000001000000"),
        (copy(Register.R0, -1), "b7000000ffffffff"),
        (add(Register.R2, -4), "07020000fcffffff"),
        (add(Register.R2, Register.R3), "0f32000000000000"),
        (load(Register.R1, Register.R6, 24, 4), "6161180000000000"),
        (load(Register.R1, Register.R6, 16, 8), "7961100000000000"),
        (store(Register.FRAME, -4, Register.R0, 4), "630afcff00000000"),
        (store(Register.FRAME, -8, Register.R0, 8), "7b0af8ff00000000"),
        (store_number(Register.FRAME, -8, 0), "620af8ff00000000"),
        (add_in_memory(Register.R0, 8, Register.R1), "db10080000000000"),
        (call(Helper.MAP_LOOKUP), "8500000001000000"),
        (address_of_map(Register.R1, 5), "18110000050000000000000000000000"),
        (end(), "9500000000000000"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_instruction_is_encoded(instruction: Instruction, encoded: str) -> None:
    assert assemble(instruction).hex() == encoded


@pytest.mark.parametrize(
    ("jump", "code"),
    [
        (go_to("there"), 0x05),
        (go_to_if_equal(Register.R0, 0, "there"), 0x15),
        (go_to_if_other(Register.R0, Register.R1, "there"), 0x5D),
        (go_to_if_greater(Register.R0, Register.R1, "there"), 0x2D),
    ],
    ids=["always", "equal", "other", "greater"],
)
def test_jump_counts_slots_to_its_label(jump: Instruction, code: int) -> None:
    program = assemble(jump, address_of_map(Register.R1, 3), "there", end())
    assert program[0] == code
    assert struct.unpack_from("=h", program, 2) == (2,)


def test_label_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        assemble(go_to("nowhere"), end())


def _described(*structures: tuple[str, tuple[tuple[str, int], ...]]) -> bytes:
    """A BTF description of structures with members at these offsets in bytes."""
    texts = b"\0"
    places: dict[str, int] = {}
    for structure, members in structures:
        for name in (structure, *(member for member, _ in members)):
            if name not in places:
                places[name] = len(texts)
                texts += name.encode() + b"\0"
    types = b""
    for structure, members in structures:
        types += struct.pack("=III", places[structure], 4 << 24 | len(members), 64)
        for member, offset in members:
            types += struct.pack("=III", places[member], 1, offset * 8)
    head = struct.pack(
        "=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(texts)
    )
    return head + types + texts


def test_offset_of_a_member_is_found_by_names() -> None:
    types = KernelTypes(
        _described(
            ("file", (("f_mode", 4), ("f_inode", 32))),
            ("inode", (("i_mode", 0), ("i_sb", 40))),
        )
    )
    assert types.offset("file", "f_inode") == 32
    assert types.offset("inode", "i_sb") == 40


@pytest.mark.parametrize(
    ("structure", "member"),
    [("file", "i_sb"), ("nothing", "f_mode"), ("file", "nothing"), ("f_mode", "file")],
)
def test_unknown_member_is_an_error(structure: str, member: str) -> None:
    types = KernelTypes(_described(("file", (("f_mode", 4),)), ("i_sb", ())))
    with pytest.raises(LookupError):
        types.offset(structure, member)


@pytest.mark.parametrize("data", [b"", b"\x9f\xeb", bytes(24), bytes(100)])
def test_what_is_no_description_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="types"):
        KernelTypes(data)


def test_mounts_are_read_as_the_kernel_writes_them() -> None:
    found = mounts(
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "30 27 0:27 /a /srv/a\\040b\\134c rw shared:3 master:1 - fuse.sshfs host: rw\n"
    )
    assert found == [
        Mount("27", os.makedev(254, 0), b"/", "ext4"),
        Mount("30", os.makedev(0, 27), b"/srv/a b\\c", "fuse.sshfs"),
    ]
    assert [each.is_waiting for each in found] == [False, True]
