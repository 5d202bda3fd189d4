"""JSON Schemas (draft 2020-12) of the files, derived from the tables of fields.

The copies in `redlane/schemas` are for editors, and hold nothing of plugins; the loader
never reads them. They say what the loader says about form; what needs more than one
object (duplicate ids, dangling references) or an engine (patterns that do not compile)
is the loader's alone.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from redlane.model.field import Field, Kind
from redlane.model.settings import GROUPS, MOST_JURORS, SETTINGS
from redlane.plugins import Plugins
from redlane.policies.fields import (
    CONDITIONS,
    POLICY,
    ROLE,
    TRANSFORM,
    TRANSFORM_CONDITIONS,
    Condition,
    Table,
)
from redlane.policies.juror_types import BUILT_IN
from redlane.policies.jury_settings import JUROR, WEBHOOK
from redlane.policies.own_fields import own_fields
from redlane.policies.plugin_settings import (
    NO_PLUGINS,
    PLUGINS,
    PluginTables,
    settings_tables,
)
from redlane.policies.settings import ALWAYS_KNOWN
from redlane.policies.values import ADDRESS, LONGEST_NAME, SIZE, UNPRINTABLE

__all__ = [
    "SCHEMAS",
    "policies_schema",
    "roles_schema",
    "schema_with_plugins",
    "settings_schema",
]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

NOTHING: Mapping[str, Table] = MappingProxyType({})
"""No match type that has fields of its own."""


def policies_schema(own: Mapping[str, Table] = NOTHING) -> Schema:
    """The schema of a policy file: one policy or an array of them.

    `own` are the fields that match types of plugins add, by the types' names.
    """
    policy = _object(POLICY, CONDITIONS, {"transform": _reference("transform")})
    policy["allOf"] += [_fields_of(name, table) for name, table in own.items() if table]
    definitions = {
        "policy": policy,
        "transform": _object(TRANSFORM, TRANSFORM_CONDITIONS),
    }
    return _file("Redlane policies", "policy", definitions)


def roles_schema() -> Schema:
    """The schema of a role file: one role or an array of them."""
    return _file("Redlane roles", "role", {"role": _object(ROLE, ())})


def settings_schema(of_plugins: PluginTables = NO_PLUGINS) -> Schema:
    """The schema of settings.json: nested objects, or dotted names at the top.

    `of_plugins` are the settings that match types read, by the types' names.
    """
    groups = {
        group: _or_null({"type": "object", "properties": _members(group)})
        for group in GROUPS
    }
    dotted = {field.name: _value(field) for field in SETTINGS}
    described: Schema = {name: {} for name in ALWAYS_KNOWN}
    return {
        "$schema": _DIALECT,
        "title": "Redlane settings",
        "type": "object",
        "properties": {
            **groups,
            **dotted,
            **described,
            PLUGINS: _or_null(
                {
                    "type": "object",
                    "properties": {
                        name: _or_null(_settings_of(rows))
                        for name, rows in of_plugins.items()
                    },
                }
            ),
        },
        "allOf": [_given_once(field.name) for field in SETTINGS],
        "$defs": {"juror": _juror()},
    }


SCHEMAS: dict[str, Callable[[], Schema]] = {
    "policies": policies_schema,
    "roles": roles_schema,
    "settings": settings_schema,
}
"""How each shipped schema is made."""


def schema_with_plugins(kind: str, plugins: Plugins) -> Schema:
    """A schema of `SCHEMAS` with what the plugins of this machine add to it."""
    if kind == "policies":
        types = sorted(plugins.match_types.items())
        return policies_schema({name: own_fields(each) for name, each in types})
    if kind == "settings":
        return settings_schema(settings_tables(plugins))
    return SCHEMAS[kind]()


def _file(title: str, member: str, definitions: dict[str, Schema]) -> Schema:
    one = _reference(member)
    return {
        "$schema": _DIALECT,
        "title": title,
        "if": {"type": "array"},
        "then": {"items": one},
        "else": one,
        "$defs": definitions,
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _object(
    table: Table,
    conditions: Iterable[Condition],
    nested: dict[str, Schema] | None = None,
) -> Schema:
    """An object of the table's fields; other fields are the loader's to judge."""
    properties = {name: _value(field) for name, field in table.items()}
    for name, schema in (nested or {}).items():
        described = properties[name].pop("description")
        properties[name] = {"description": described, **_or_null(schema)}
    made = {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in table.values() if field.required],
        "allOf": [_condition(table, each) for each in conditions],
    }
    return {key: value for key, value in made.items() if value}


def _fields_of(type_name: str, table: Table) -> Schema:
    """What policies of one match type of a plugin have besides."""
    own = _object(table, ())
    del own["type"]
    applies = {"required": ["type"], "properties": {"type": {"const": type_name}}}
    return {"if": applies, "then": own}


def _settings_of(rows: Iterable[Field]) -> Schema:
    """The settings of one match type; what is required is so once any is given."""
    made = _object({each.name: each for each in rows}, ())
    required = made.pop("required", None)
    if required:
        made["anyOf"] = [{"maxProperties": 0}, {"required": required}]
    return made


def _members(group: str) -> dict[str, Schema]:
    return {
        field.name.removeprefix(f"{group}."): _value(field)
        for field in SETTINGS
        if field.name.startswith(f"{group}.")
    }


def _given_once(dotted: str) -> Schema:
    """Not nested and dotted at the same time."""
    group, _, name = dotted.partition(".")
    nested = {"type": "object", "required": [name]}
    return {"not": {"required": [dotted, group], "properties": {group: nested}}}


def _condition(table: Table, condition: Condition) -> Schema:
    """`if` the condition applies, `then` one of its needs is given."""
    applies: list[Schema] = [
        _has_value(table[name], values) for name, values in condition.when.items()
    ]
    if condition.given:
        applies.append(_given(condition.given))
    then: Schema | bool = False
    if condition.needs:
        then = {"anyOf": [_given(name) for name in condition.needs]}
    return {"if": {"allOf": applies}, "then": then}


def _has_value(field: Field, values: tuple[str, ...]) -> Schema:
    """The field has one of the values; an absent or null one has its default."""
    listed: list[str | None] = [str(value) for value in values]
    if field.default in values:
        return {"properties": {field.name: {"enum": [*listed, None]}}}
    return {"required": [field.name], "properties": {field.name: {"enum": listed}}}


def _given(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _value(field: Field) -> Schema:
    """What one field may hold; an optional one may be null."""
    form = _FORMS[field.kind](field)
    schema = form if field.required or field.kind is Kind.ANY else _or_null(form)
    default = {} if field.default is None else {"default": _default(field)}
    return {"description": field.help, **schema, **default}


def _default(field: Field) -> object:
    if field.kind is Kind.SIZE and isinstance(field.default, int):
        return f"{field.default // 1024**2}MB"
    return list(field.default) if isinstance(field.default, tuple) else field.default


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _string(field: Field) -> Schema:
    return {
        "type": "string",
        **({"enum": list(field.choices)} if field.choices else {}),
    }


def _name(_field: Field) -> Schema:
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        "not": {"pattern": UNPRINTABLE},
    }


def _strings(field: Field) -> Schema:
    return {"type": "array", "items": {**_string(field), "minLength": 1}}


def _string_or_strings(field: Field) -> Schema:
    one = {**_string(field), "minLength": 1}
    return {"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]}


def _string_map(field: Field) -> Schema:
    return {
        "type": "object",
        "propertyNames": {"minLength": 1},
        "additionalProperties": {**_string(field), "minLength": 1},
    }


def _jury(_field: Field) -> Schema:
    return {"type": "array", "maxItems": MOST_JURORS, "items": _reference("juror")}


def _juror() -> Schema:
    """Types of plugins ask for what they like; those that are built in are known."""
    juror = _object({each.name: each for each in JUROR}, ())
    juror["allOf"] = [
        {
            "if": {"properties": {"type": {"const": name}}},
            "then": _object({each.name: each for each in known.settings}, ()),
        }
        for name, known in BUILT_IN.items()
    ]
    return juror


def _number(field: Field) -> Schema:
    return {"type": "number", **_limits(field)}


def _integer(field: Field) -> Schema:
    return {"type": "integer", **_limits(field)}


def _limits(field: Field) -> Schema:
    limits = {
        "exclusiveMinimum": 0 if field.positive else None,
        "minimum": field.minimum,
        "maximum": field.maximum,
    }
    return {key: value for key, value in limits.items() if value is not None}


_FORMS: dict[Kind, Callable[[Field], Schema]] = {
    Kind.STRING: _string,
    Kind.NAME: _name,
    Kind.STRINGS: _strings,
    Kind.STRING_OR_STRINGS: _string_or_strings,
    Kind.BOOLEAN: lambda _: {"type": "boolean"},
    Kind.NUMBER: _number,
    Kind.INTEGER: _integer,
    Kind.SIZE: lambda _: {"type": "string", "pattern": SIZE},
    Kind.DIRECTORY: _name,
    Kind.ADDRESS: lambda _: {"type": "string", "pattern": ADDRESS},
    Kind.FILE: _name,
    Kind.JURY: _jury,
    Kind.WEBHOOK: lambda _: _object({each.name: each for each in WEBHOOK}, ()),
    Kind.STRING_MAP: _string_map,
    Kind.OBJECT: lambda _: {"type": "object"},
    Kind.ANY: lambda _: {},
}
