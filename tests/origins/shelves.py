"""A shelf of packages for pip and one for npm, as static pages of the origin."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile

from origins.routes import Origin

__all__ = ["fill_npm", "fill_pip"]


def fill_pip(origin: Origin) -> None:
    """The wheel `greeting` 1.0, at the index `/simple/`."""
    info = "greeting-1.0.dist-info"
    files = {
        "greeting.py": "def main():\n    print('hello from a wheel')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\nRoot-Is-Purelib: true",
    }
    listed = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": listed}.items():
            archive.writestr(name, text)
    name, data = "greeting-1.0-py3-none-any.whl", wheel.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    link = f'<a href="/wheels/{name}#sha256={digest}">{name}</a>'
    page = f"<!DOCTYPE html><html><body>{link}</body></html>"
    origin.serve("/simple/greeting/", page.encode(), "text/html")
    origin.serve(f"/wheels/{name}", data, "application/zip")


def fill_npm(origin: Origin, base: str) -> None:
    """The package `greeting` 1.0.0, at the registry `/npm`, reached at `base`."""
    manifest = {"name": "greeting", "version": "1.0.0", "main": "index.js"}
    files = {
        "package/package.json": json.dumps(manifest),
        "package/index.js": "module.exports = () => 'hello from a tarball'\n",
    }
    tarball = io.BytesIO()
    with tarfile.open(fileobj=tarball, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    data = tarball.getvalue()
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    path = "/npm/greeting/-/greeting-1.0.0.tgz"
    dist = {
        "tarball": f"{base}{path}",
        "integrity": f"sha512-{digest}",
        "shasum": hashlib.sha1(data).hexdigest(),
    }
    document = {
        "name": "greeting",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {**manifest, "dist": dist}},
    }
    text = json.dumps(document).encode()
    origin.serve("/npm/greeting", text, "application/json")
    origin.serve(path, data, "application/octet-stream")
