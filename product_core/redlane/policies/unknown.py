"""What to say of a `type` that no plugin offers: how to get it, or why it is gone."""

from redlane.plugins import KNOWN_PACKAGES, PluginReport, Plugins
from redlane.policies.nearness import nearest, short

__all__ = ["unknown_type"]


def unknown_type(name: str, plugins: Plugins) -> str:
    """One line: the plugin's own failure, the package to install, or the right name."""
    package = KNOWN_PACKAGES.get(name)
    failed = [each for each in plugins.reports if each.error is not None]
    for report in failed:
        if report.distribution == package:
            return f"`type`: {name!r} is not there, because {_failure(report)}"
    if package:
        return f"`type`: {name!r} is not installed: install the package {package}"
    names = sorted({*plugins.match_types, *KNOWN_PACKAGES})
    near = nearest(name, names)
    hint = (
        f"; did you mean {near!r}?" if near else f": installed are {_listed(plugins)}"
    )
    doubt = "".join(f"; {_failure(report)}" for report in failed)
    return f"`type`: no plugin offers {short(name)}{hint}{doubt}"


def _failure(report: PluginReport) -> str:
    return (
        f"the plugin {report.name!r} of {report.distribution} {report.version} "
        f"failed to load: {report.error}"
    )


def _listed(plugins: Plugins) -> str:
    return ", ".join(sorted(plugins.match_types)) or "no match types at all"
