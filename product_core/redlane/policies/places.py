"""Places, as roles write them: `writable` has its names here, `hidden` elsewhere."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from redlane.policies.nearness import expected

__all__ = ["EXCEPT", "MOVED_BY", "PLACES", "place_problem"]

EXCEPT = "!"
"""What stands in front of a place within others that is none."""

MOVED_BY: Mapping[str, str] = MappingProxyType(
    {
        "XDG_CACHE_HOME": "~/.cache",
        "XDG_STATE_HOME": "~/.local/state",
        "CARGO_HOME": "~/.cargo",
        "RUSTUP_HOME": "~/.rustup",
        "GOPATH": "~/go",
        "npm_config_cache": "~/.npm",
        "GRADLE_USER_HOME": "~/.gradle",
        "CCACHE_DIR": "~/.ccache",
        "DENO_DIR": "~/.deno",
        "BUN_INSTALL": "~/.bun",
        "COMPOSER_HOME": "~/.composer",
        "CLAUDE_CONFIG_DIR": "~/.claude",
        "CODEX_HOME": "~/.codex",
    }
)
"""By which variables a person moves directories that hold places."""

PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "@work": (".",),
        "@temporary": ("/tmp", "/var/tmp", "/dev/shm"),  # noqa: S108  # nothing is made
        "@caches": (
            *("~/.cache", "~/.npm", "~/.yarn", "~/.bun", "~/.pnpm-store"),
            *("~/.node-gyp", "~/.cargo/registry", "~/.cargo/git", "~/.rustup"),
            *("~/.cargo/.package-cache", "~/.cargo/.package-cache-mutate"),
            *("~/.cargo/.global-cache", "~/.cargo/.global-cache-journal"),
            # Without these gpg takes no key to sign by.
            *("~/.gnupg/.#lk*", "~/.gnupg/trustdb.gpg.lock"),
            *("~/.gnupg/pubring.kbx.lock", "~/.gnupg/pubring.gpg.lock"),
            *("~/go/pkg", "~/.cpan", "~/.bundle", "~/.composer"),
            *("~/.m2", "~/.gradle", "~/.ivy2", "~/.sbt", "~/.nuget", "~/.gem"),
            *("~/.local/share/pnpm", "~/.local/share/uv", "~/.local/share/virtualenv"),
            *(
                "~/.wget-hsts",
                "~/.local/state",
                "~/.ccache",
                "~/.deno",
                "~/.conan2",
                "~/.hex",
            ),
        ),
        "@agents": (
            # With its lock, and what it is written to before it has that name.
            *("~/.claude", "~/.claude.json*", "~/.codex"),
            *("~/.gemini", "~/.qwen", "~/.aider", "~/.config/opencode"),
            *("~/.local/share/opencode", "~/.local/share/claude", "~/.opencode"),
            *("~/.config/mini-swe-agent", "~/.config/goose", "~/.local/share/goose"),
        ),
        "@histories": (
            *("~/.bash_history", "~/.python_history", "~/.node_repl_history"),
            *("~/.sqlite_history", "~/.psql_history", "~/.lesshst"),
            *("~/.viminfo", "~/.viminfo.tmp"),
        ),
    }
)
"""Places by a name. `@work` is the working directory, with the repository it is in."""


def place_problem(entry: str, names: Iterable[str]) -> str | None:
    """What is wrong with an entry of a role's places, or None.

    `names` are those of sets of places, each with `@` in front.
    """
    place = entry.removeprefix(EXCEPT)
    if place.startswith("@"):
        known = tuple(names)
        return None if place in known else expected(place, known)
    if "\0" in place or ".." in place.split("/"):
        return f"{entry!r} is no plain path: write it without `..`"
    if place in (".", "~") or place.startswith(("/", "./", "~/")):
        return None
    return f"{entry!r} is no place: begin it with `/`, `~/`, `./` or `@`"
