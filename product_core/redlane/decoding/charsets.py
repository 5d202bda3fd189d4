"""Text in any charset of the web to UTF-8, and back again after a Modify."""

import codecs
import re

from redlane.errors import ContentError

__all__ = ["as_declared", "charset_of", "from_utf8", "is_known", "to_utf8"]

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKED = "+mark"
"""Ends the name of a charset whose text began with a byte order mark."""

_BY_MARK = {name: mark for mark, name in _MARKS}

_LABELS = {
    "cp1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 latin1 latin-1 l1",
    "iso8859-2": "iso-8859-2 iso8859-2 latin2 l2",
    "iso8859-3": "iso-8859-3 latin3",
    "iso8859-4": "iso-8859-4 latin4",
    "iso8859-5": "iso-8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 arabic",
    "iso8859-7": "iso-8859-7 greek",
    "iso8859-8": "iso-8859-8 iso-8859-8-i hebrew",
    "iso8859-10": "iso-8859-10 latin6",
    "iso8859-13": "iso-8859-13",
    "iso8859-14": "iso-8859-14",
    "iso8859-15": "iso-8859-15 latin9 latin-9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8 koi",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp866": "ibm866 cp866 866",
    "cp874": "windows-874 tis-620 iso-8859-11",
    "cp1250": "windows-1250 cp1250",
    "cp1251": "windows-1251 cp1251",
    "cp1253": "windows-1253 cp1253",
    "cp1254": "windows-1254 cp1254 iso-8859-9 latin5",
    "cp1255": "windows-1255 cp1255",
    "cp1256": "windows-1256 cp1256",
    "cp1257": "windows-1257 cp1257",
    "cp1258": "windows-1258 cp1258",
    "gb18030": "gb18030 gbk gb2312 gb_2312-80 x-gbk chinese",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5",
    "euc_jp": "euc-jp x-euc-jp",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j",
    "cp949": "euc-kr ks_c_5601-1987 korean windows-949",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "utf-16-le": "utf-16 utf-16le unicode ucs-2 iso-10646-ucs-2",
    "utf-16-be": "utf-16be unicodefffe",
    "utf-32-le": "utf-32 utf-32le",
    "utf-32-be": "utf-32be",
}
_CODECS = {label: codec for codec, line in _LABELS.items() for label in line.split()}
"""Charsets by what they are called. EBCDIC and the like are none of the web's: what
does not read them sees other text than what does."""

_NEVER_READ = frozenset({"idna", "punycode", "undefined"})
"""Codecs of names, which take the square of a text's length."""

_WIDE = tuple(_BY_MARK)
_PARAMETER = re.compile(r"""charset\s*=\s*["']?\s*([^\s;"',]{1,40})""", re.IGNORECASE)
_LONGEST_NAME = 41
"""One more than any has: what is cut there is known by nobody."""

_PARAMETERS = re.compile(r""";\s*([^\s;="]+)\s*=\s*("[^"]*"|'[^']*'|[^\s;,"]*)""")
_META = re.compile(rb"""<meta[^>]{1,300}?charset\s*=\s*["']?\s*([a-z0-9_:-]{1,40})""")
_META_WITHIN = 4_096
_SAMPLE = 4_096
_MOSTLY = 0.4


def to_utf8(data: bytes, content_type: str) -> tuple[bytes, str | None]:
    """Text as UTF-8, and the charset that it came in.

    That is None for what is UTF-8 already and for what is no text in a known charset.
    A byte order mark goes before what the bytes look like, and that before what
    `content_type` and a page's own `<meta charset>` say.
    """
    if data.startswith(codecs.BOM_UTF8):
        return data, None
    for mark, wide in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(wide, "replace")
            return text.encode(), wide + _MARKED
    codec = _wide(data[:_SAMPLE]) or _declared(data, content_type)
    if codec is None or (data.isascii() and not _changes_ascii(codec, data)):
        return data, None
    return _converted(data, codec)


def from_utf8(data: bytes, charset: str | None) -> bytes:
    """UTF-8 back in the charset that `to_utf8` named.

    Raises ContentError where a character is not in it.
    """
    if charset is None:
        return data
    codec = charset.removesuffix(_MARKED)
    mark = _BY_MARK[codec] if charset.endswith(_MARKED) else b""
    try:
        return mark + data.decode().encode(codec)
    except UnicodeError:
        raise ContentError(f"the rewritten text does not fit {codec}") from None


def as_declared(data: bytes, content_type: str) -> bytes:
    """What a reader that takes every name of a charset reads, in UTF-8.

    Programs in Python decode by any codec that they have, UTF-7, EBCDIC and escapes
    among them. Empty where that is nothing else.
    """
    named = charset_of(content_type)
    if named is None or named in _CODECS:
        return b""
    try:
        codec = codecs.lookup(named).name
        if codec in _NEVER_READ or codec == "utf-8":
            return b""
        read = data.decode(codec, "replace").encode("utf-8", "replace")
    except (LookupError, ValueError, TypeError):
        return b""
    return b"" if read == data else read


def is_known(content_type: str) -> bool:
    """Whether a `Content-Type` names no charset, or one that can be read here."""
    all_named = set(_charsets_of(content_type))
    if len(all_named) > 1:
        return False
    named = charset_of(content_type)
    if named is None or named in _CODECS:
        return True
    try:
        codecs.lookup(named)
    except (LookupError, ValueError):
        return False
    return True


def charset_of(content_type: str) -> str | None:
    """The charset that a `Content-Type` names, in lower case."""
    return next(iter(_charsets_of(content_type)), None)


def _charsets_of(content_type: str) -> tuple[str, ...]:
    """All charsets that it names: the first is what most readers take, others the last.

    Of what has not the form of parameters, whatever looks like one.
    """
    found = _PARAMETERS.findall(content_type)
    named = [value for name, value in found if name.lower() == "charset"]
    loose = _PARAMETER.search(content_type)
    if not named and loose is not None:
        named = [loose[1]]
    return tuple(each.strip("\"' \t")[:_LONGEST_NAME].lower() for each in named)


def _declared(data: bytes, content_type: str) -> str | None:
    """The codec of the charset that the header, or the page itself, names."""
    named = charset_of(content_type)
    if named is None:
        found = _META.search(data[:_META_WITHIN].lower())
        named = found[1].decode() if found else ""
        # Whoever could read the <meta> as ASCII does not read what it is in as UTF-16.
        named = "" if named.startswith(("utf-16", "utf-32")) else named
    return _CODECS.get(named)


def _changes_ascii(codec: str, data: bytes) -> bool:
    """Whether bytes below 0x80 can be anything else than ASCII."""
    return codec in _WIDE or (codec == "iso2022_jp" and b"\x1b" in data)


def _converted(data: bytes, codec: str) -> tuple[bytes, str | None]:
    """`data` in UTF-8, unless it is not what it is called."""
    is_utf8 = _is_utf8(data)
    if codec in _WIDE and is_utf8 and b"\x00" not in data:
        return data, None
    try:
        return data.decode(codec).encode(), codec
    except UnicodeError:
        if is_utf8 or codec == "iso2022_jp":
            return data, None
    return data.decode(codec, "replace").encode("utf-8", "replace"), codec


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _wide(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, by where the zeros of Latin letters stand."""
    if b"\x00" not in head or len(head) < 4:  # noqa: PLR2004  # one character of UTF-32
        return None
    units = len(head) // 4
    zeros = [head[place::4].count(0) / units for place in range(4)]
    few, many = 1 - _MOSTLY, _MOSTLY
    shapes = (
        ("utf-32-le", (0, many, few + 0.2, few + 0.2)),
        ("utf-32-be", (few + 0.2, few + 0.2, many, 0)),
        ("utf-16-le", (0, many, 0, many)),
        ("utf-16-be", (many, 0, many, 0)),
    )
    for codec, least in shapes:
        if all(
            have >= want if want else have < 1 - _MOSTLY
            for have, want in zip(zeros, least, strict=True)
        ):
            return codec
    return None
