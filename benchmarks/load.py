"""How many requests a second a server answers, as wrk sees it from a processor away."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CLIENT_CPU", "SERVER_CPU", "Load", "hammered"]

SERVER_CPU, CLIENT_CPU = 0, 1
"""Servers and wrk never share a processor."""

SCRIPT = Path(__file__).with_name("clients.lua")
"""Makes each request come from another client, as far as a trusting server can tell."""

_CONNECTIONS = 32
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


@dataclass(frozen=True, slots=True)
class Load:
    """Requests answered a second, and the 99th percentile of their time in seconds."""

    rate: float
    p99: float


def hammered(url: str, *, accept: str = "*/*", seconds: float = 3) -> Load:
    """Ask for the same thing on 32 connections at once, again and again.

    Raises RuntimeError when anything but success was answered.
    """
    words = ["taskset", "--cpu-list", str(CLIENT_CPU), "wrk", "--threads", "1"]
    words += ["--connections", str(_CONNECTIONS), "--duration", f"{seconds}s"]
    words += ["--latency", "--script", str(SCRIPT), "--header", f"Accept: {accept}"]
    done = subprocess.run([*words, url], capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise RuntimeError(f"{url}: {done.stdout}")
    p99 = _found(r"99%\s+([\d.]+)(us|ms|s|m)\b", done.stdout)
    return Load(
        float(_found(r"Requests/sec:\s+([\d.]+)", done.stdout)[1]),
        float(p99[1]) * _UNITS[p99[2]],
    )


def _found(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"wrk said something else: {text}")
    return found
