"""`redlane NAME` of a plugin: its parser, among those of Redlane's own commands."""

from redlane.cli.parser import Commands
from redlane.errors import RedlaneError, UsageError
from redlane.model.commands import CommandGroup
from redlane.plugin_points import command_names

__all__ = [
    "add_plugin_command",
    "add_plugin_commands",
    "command_names",
    "list_plugin_commands",
]


def list_plugin_commands(commands: Commands) -> None:
    """A line of help for each command that plugins announce; nothing is imported."""
    for name, distribution in sorted(command_names().items()):
        if name not in commands.choices:
            summary = f"from {distribution}".replace("%", "%%")
            commands.add_parser(name, help=summary, add_help=False)


def add_plugin_command(commands: Commands, name: str) -> None:
    """Add the command of a plugin; raises UsageError when it cannot be used."""
    from redlane.plugin_commands import load_command  # noqa: PLC0415  # not for a help

    _add(commands, load_command(name))


def add_plugin_commands(commands: Commands) -> None:
    """Add every command that can be used; `redlane plugins list` tells of others."""
    for name in command_names():
        if name not in commands.choices:
            try:
                add_plugin_command(commands, name)
            except RedlaneError:
                continue


def _add(commands: Commands, group: CommandGroup) -> None:
    """Have the plugin fill the parser of its command."""
    summary = group.summary.replace("%", "%%")  # a help is a format, unlike this:
    parser = commands.add_parser(group.name, help=summary, description=group.summary)
    try:
        group.register(parser)
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(
            f"the command {group.name!r} cannot be used: {reason}"
        ) from error
