"""What Kubernetes and its operators allow in a manifest; property by property, it knows no other."""

from typing import Any

import jsonschema_rs
import orjson

from launcher.settings import ROOT

FOLDER = ROOT / "tests" / "stack"


def _validators() -> dict[tuple[str, str], Any]:
    """Return what validates a resource, by its apiVersion and kind. The files say where they are from."""
    found = {}
    for file in ("kubernetes-schema.json", "cloudnative-pg-schema.json"):
        definitions = orjson.loads((FOLDER / file).read_bytes())["$defs"]
        for name, schema in definitions.items():
            (version,), (kind,) = (
                schema.get("properties", {}).get(key, {}).get("enum", [""]) for key in ("apiVersion", "kind")
            )
            if version and kind:
                whole = {"$defs": definitions, "$ref": f"#/$defs/{name.replace('/', '~1')}"}
                found[version, kind] = jsonschema_rs.Draft202012Validator(whole)
    return found


VALIDATORS = _validators()


def errors(resource: dict[str, Any]) -> list[str]:
    """Return what is wrong with the form of a resource; nothing says that it would run."""
    validator = VALIDATORS.get((resource["apiVersion"], resource["kind"]))
    if not validator:
        return [f"{resource['apiVersion']} {resource['kind']} is not known"]
    return [
        f"{'.'.join(map(str, error.instance_path))}: {error.message}"
        for error in validator.iter_errors(resource)
    ]
