"""The manifests of supabase/kubernetes, as they are described and as the launcher fills them."""

import base64
from pathlib import Path

from launcher import kubernetes
from launcher.keys import Keys
from launcher.kubernetes import Manifests
from launcher.settings import SERVICES_WITH_PORTS, Settings
from tests.support.kustomization import Resource, built

STEPS = ("postgresql", "migrations", "services", "bootstrap")
SERVICES = kubernetes.SERVICES
GIVEN = {
    "SITE_URL": "https://harborline.example",
    "TRUSTED_PROXIES": "10.42.0.0/16",
    "DATABASE_SERVER": "harborline-database-rw:5432",
    "DATABASE_NAME": "harborline",
    "DATABASE_OWNER": "harborline",
    "STORAGE_URL": "s3://receipts/prefix",
    "AWS_ACCESS_KEY_ID": "the id of the receipts",
    "AWS_SECRET_ACCESS_KEY": "the = key # of $the receipts",
    "AWS_REGION": "eu-1",
    "SMTP_HOST": "mail.example.org",
    "SMTP_USER": "a user",
    "SMTP_PASS": "the password of the mail",
    "IMAGE_REGISTRY": "registry.example.org:5000/harborline",
    "BACKUP_REPOSITORY": "s3://backups/prefix",
    "BACKUP_S3_ENDPOINT": "https://s3.example.org:9000",
    "BACKUP_S3_KEY": "the id of the backups",
    "BACKUP_S3_SECRET": "the key of the backups",
}


def stack(state: Path, **options: str) -> tuple[Settings, Keys]:
    """Return the settings of a stack without its keys; an option that is empty is not given."""
    given = {name: value for name, value in (GIVEN | options).items() if value}
    ports = dict.fromkeys(SERVICES_WITH_PORTS, 8000)
    settings = Settings(state=state, demo=False, ports=ports, options=given, identity="abcd")
    return settings, Keys(settings)


class Written:
    """What the launcher has written for a stack."""

    def __init__(self, state: Path, **options: str) -> None:
        self.settings, self.keys = stack(state, **options)
        self.keys.make()
        self.manifests = Manifests(self.settings, self.keys)
        self.manifests.write()
        self.folder = state / "kubernetes"
        self.steps = {path.name: built(path) for path in sorted(self.folder.iterdir())}

    def texts(self, step: str, kind: str, name: str) -> dict[str, str]:
        """Return what is in a ConfigMap or a Secret."""
        data: dict[str, str] = resource(self.steps[step], kind, name)["data"]
        return (
            {key: base64.b64decode(text).decode() for key, text in data.items()} if kind == "Secret" else data
        )


def resource(found: list[Resource], kind: str, name: str) -> Resource:
    """Return one resource."""
    (one,) = [each for each in found if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return one


def pods(found: list[Resource]) -> dict[str, Resource]:
    """Return what describes pods, by the name of its resource: labels and spec."""
    templates = {
        each["metadata"]["name"]: each if each["kind"] == "Pod" else each["spec"]["template"]
        for each in found
        if each["kind"] in ("Deployment", "StatefulSet", "Job", "Pod")
    }
    return {name: {"labels": one["metadata"]["labels"], **one["spec"]} for name, one in templates.items()}


def containers(pod: Resource) -> list[Resource]:
    """Return all containers of a pod, in the order in which they run."""
    return [*pod.get("initContainers", []), *pod["containers"]]


def labels_of(name: str) -> dict[str, str]:
    """Return the labels of a pod."""
    found: dict[str, str] = ALL_PODS[name]["labels"]
    return found


DESCRIBED = {step: built(kubernetes.BASES / step) for step in STEPS}
EVERYTHING = [each for found in DESCRIBED.values() for each in found]
ALL_PODS = pods(EVERYTHING)
POLICIES = {each["metadata"]["name"]: each["spec"] for each in EVERYTHING if each["kind"] == "NetworkPolicy"}
