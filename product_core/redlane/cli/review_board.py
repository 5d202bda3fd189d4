"""What `redlane review` shows and what its keys do, without the terminal.

Nothing that a person has not chosen is ever decided: what is chosen stays so until they
move on, also when it is over. It can be allowed once its end has been on the screen.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from redlane.model.review_text import Review, alike, headline, lines_of, wrapped

__all__ = ["Board", "Wish"]

_FOR_A_WHILE = 600
_LEAST_LIST, _LIST_SHARE = 3, 3
_LEAST_HEIGHT, _LEAST_WIDTH = 12, 40
_ENTER, _BACK, _ESCAPE = ("\n", "\r"), ("\b", "\x7f", "KEY_BACKSPACE"), "\x1b"
_LONGEST_NOTE = 500
_FAR = 1_000_000
_MOVES = {
    "KEY_DOWN": 1,
    "j": 1,
    "KEY_UP": -1,
    "k": -1,
    "KEY_END": _FAR,
    "G": _FAR,
    "KEY_HOME": -_FAR,
    "g": -_FAR,
}
HELP = (
    "up/down: choose  space: scroll  a: allow  t: allow for 10 minutes  b: block  "
    "n: note  q: leave"
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A decision that a key stands for; `seconds`: for the same so long as well."""

    review: str
    decision: str
    note: str | None = None
    seconds: int | None = None


@dataclass(slots=True)
class Board:
    """The reviews that are held, the chosen one, and how far it was read."""

    width: int = 80
    height: int = 24
    message: str = ""
    leaves: bool = False
    _reviews: dict[str, Review] = field(default_factory=dict)
    _chosen: str | None = None
    _scroll: int = 0
    _drawn: str | None = None
    _read_to: dict[str, int] = field(default_factory=dict)
    _details: dict[tuple[object, ...], list[str]] = field(default_factory=dict)
    _note: str | None = None
    _is_typing: bool = False

    def update(self, reviews: Iterable[Review]) -> None:
        """Show these; the chosen one stays where it was when it is over."""
        fresh = {each["id"]: each for each in reviews}
        if self._chosen is not None and self._chosen not in fresh:
            gone = {
                **self._reviews[self._chosen],
                "state": "over",
                "seconds_left": None,
            }
            kept = {
                i: fresh.get(i, gone)
                for i in self._reviews
                if i in fresh or i == self._chosen
            }
            fresh = {**kept, **fresh}
        self._reviews = fresh
        self._read_to = {i: end for i, end in self._read_to.items() if i in fresh}
        if self._chosen is None:
            self._choose(next(iter(fresh), None))

    def tick(self, seconds: float) -> None:
        """So many seconds have passed."""
        for each in self._reviews.values():
            if each["seconds_left"] is not None:
                each["seconds_left"] = max(
                    0.0, round(each["seconds_left"] - seconds, 1)
                )

    def press(self, key: str) -> Wish | None:
        """What a key asks for, by its letter or by the name that curses has for it."""
        if self._is_typing:
            self._type(key)
            return None
        self.message = ""
        if key in _MOVES:
            self._move(_MOVES[key])
            return None
        match key:
            case "q" | "Q":
                self.leaves = True
            case " " | "KEY_NPAGE":
                self._scroll_by(self._room() - 1)
            case "KEY_PPAGE":
                self._scroll_by(1 - self._room())
            case "n":
                self._is_typing, self._note = True, self._note or ""
            case "a" | "t" | "b":
                return self._wish(key)
        return None

    def decided(self, wish: Wish, message: str) -> None:
        """Tell how a wish went, after which it is over; its note is used up."""
        self.message, self._note = message, None
        self._reviews[wish.review] |= {"state": "over", "seconds_left": None}

    def rows(self) -> list[tuple[str, bool]]:
        """Every line of the screen from its top, and whether it is the chosen one.

        Whoever asks shows them: what they are of counts as read.
        """
        return list(self._rows())

    def _rows(self) -> Iterator[tuple[str, bool]]:
        if self.height < _LEAST_HEIGHT or self.width < _LEAST_WIDTH:
            yield "larger!"[: self.width], False
            return
        yield self._fit(f"redlane: {len(self._reviews)} held"), False
        yield from self._listed()
        yield "-" * self.width, False
        detail, room = self._detail(), self._room()
        end = self._scroll + room
        shown = detail[self._scroll : end]
        yield from ((line, False) for line in shown)
        yield from (("", False) for _ in range(room - len(shown)))
        yield self._fit(self._last_line(len(detail) - end), self.width - 1), False
        self._drawn = self._chosen
        if self._chosen is not None:
            # It was scrolled no further than to what was shown, so nothing is between.
            self._read_to[self._chosen] = max(end, self._read_so_far())

    def resize(self, height: int, width: int) -> None:
        """Lines break elsewhere: what was read of them is to be read again."""
        if (height, width) != (self.height, self.width):
            self.height, self.width = height, width
            self._scroll, self._drawn = 0, None
            self._read_to.clear()

    def _read_so_far(self) -> int:
        return self._read_to.get(self._chosen or "", 0)

    def _listed(self) -> Iterator[tuple[str, bool]]:
        """So many of the list that the chosen one is among them."""
        shown, room = self._shown(), self._list_room()
        ids = list(shown)
        place = ids.index(self._chosen) if self._chosen in shown else 0
        first = min(max(0, place - room // 2), max(0, len(ids) - room))
        lines = ids[first : first + room]
        for each in lines:
            review = self._reviews[each]
            left = review["seconds_left"]
            time = f"{left:>5.0f} s" if left is not None else f"{review['state']:>7}"
            more = f"(and {shown[each]} more) " if shown[each] else ""
            yield self._fit(f"{time}  {more}{headline(review)}"), each == self._chosen
        yield from (("", False) for _ in range(room - len(lines)))

    def _shown(self) -> dict[str, int]:
        """One of all that are the same, and how many more there are of it."""
        groups = ([e["id"] for e in each] for each in alike(self._reviews.values()))
        return {
            next((e for e in each if e == self._chosen), each[0]): len(each) - 1
            for each in groups
        }

    def _detail(self) -> list[str]:
        review = self._reviews.get(self._chosen or "")
        if review is None:
            return ["Nothing is held."]
        key = (review["id"], review["state"], len(review["votes"]), self.width)
        if key not in self._details:
            lines = lines_of(review, with_time=False)
            parts = [part for line in lines for part in wrapped(line, self.width)]
            self._details = {key: parts}
        return self._details[key]

    def _last_line(self, left: int) -> str:
        if self._is_typing:
            typed = (self._note or "")[-self.width // 3 :]
            return f"note (Enter: keep, Escape: drop): {typed}"
        more = f"{left} lines more (space)  " if left > 0 else ""
        note = f"note: {self._note}  " if self._note else ""
        return self.message or f"{more}{note}{HELP}"

    def _list_room(self) -> int:
        return max(_LEAST_LIST, (self.height - 3) // _LIST_SHARE)

    def _room(self) -> int:
        """Lines for the chosen review: what title, list, rule and help leave."""
        return max(2, self.height - 3 - self._list_room())

    def _fit(self, line: str, width: int | None = None) -> str:
        return next(wrapped(line, width or self.width))

    def _choose(self, review_id: str | None) -> None:
        self._chosen, self._scroll, self._note = review_id, 0, None

    def _move(self, by: int) -> None:
        """To the one beside it; one that is over is left behind."""
        ids = list(self._shown())
        if self._chosen is None or not ids:
            return
        place = ids.index(self._chosen)
        is_over = self._reviews[self._chosen]["seconds_left"] is None
        if is_over:
            del self._reviews[self._chosen]
            ids.pop(place)
            by = min(by, 0)
        at = min(max(0, place + by), len(ids) - 1)
        self._choose(ids[at] if ids else None)

    def _scroll_by(self, lines: int) -> None:
        """As far as there is something, and no line further than what was shown."""
        last = max(0, len(self._detail()) - self._room())
        self._scroll = min(max(0, self._scroll + lines), last, self._read_so_far())

    def _wish(self, key: str) -> Wish | None:
        if self._chosen is None or self._reviews[self._chosen]["seconds_left"] is None:
            self.message = "it is over: choose another one"
            return None
        if self._drawn != self._chosen:
            return None
        if key == "b":
            return Wish(self._chosen, "block", self._note or None)
        if self._read_so_far() < len(self._detail()):
            self.message = "there is more of it: read it to its end first (space)"
            return None
        seconds = _FOR_A_WHILE if key == "t" else None
        return Wish(self._chosen, "allow", self._note or None, seconds)

    def _type(self, key: str) -> None:
        note = self._note or ""
        if key in _ENTER or key == _ESCAPE:
            self._is_typing = False
            self._note = note if key in _ENTER else None
        elif key in _BACK:
            self._note = note[:-1]
        elif len(key) == 1 and key.isprintable() and len(note) < _LONGEST_NOTE:
            self._note = note + key
