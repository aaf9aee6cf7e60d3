"""What supabase/kubernetes needs from outside: a kustomization for each step, with a stack's settings."""

import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict

from launcher import options, private_files
from launcher.backups import repository
from launcher.containers import compose
from launcher.containers.compose_files import secret
from launcher.database import elsewhere
from launcher.database.schema import BOOTSTRAP, PASSWORDS_AFTER, bootstrap_text, password_statements
from launcher.host import environment, tools
from launcher.keys import Keys
from launcher.kubernetes_options import CLUSTER, OWNER, has_cluster, require_sensible
from launcher.kustomize import CONFIG_MAP, SECRET, Generated, Overlay, json_patch
from launcher.settings import ROOT, Settings

BASES = ROOT / "supabase" / "kubernetes"
NAMESPACE = "harborline"
# As supabase/kubernetes/contained says.
REPLICAS = "2"
# Paths in the containers.
SECRETS, AUTHORITY = "/run/secrets", "/database/ca.crt"
DOCKERFILES = {
    "functions": "functions/Dockerfile",
    "gateway": "supabase/gateway/Dockerfile",
    "migrations": "supabase/stack/Dockerfile",
}
COPIED = re.compile(r"^COPY (?!--from)(.+) \S+$", re.MULTILINE)
SERVICES = ("auth", "storage", "edge", "worker", "postgrest", "gateway")
# What is secret and read from the environment alone: by the library for S3, and by Caddy.
FROM_ENVIRONMENT = {
    "storage": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "gateway": ("SUPABASE_SERVICE_ROLE_KEY",),
}
AFTER_SERVICES = tuple(sorted(BOOTSTRAP.glob("after_services/*.sql")))
# As whom the SQL around the product's migrations runs, by its name in the service file.
SQL_ROLES = {"owner" if file.stem == "postgres" else file.stem: file.stem for file in AFTER_SERVICES}
# By the server: kubectl's own note of what it applied has no room for a large Secret.
APPLY = "kubectl apply --server-side -k"
TITLES = {
    "postgresql": "The database",
    "migrations": "Its migrations; the services go on as they are meanwhile",
    "services": "The services",
    "bootstrap": "The first people, once",
}


class Manifests:
    """The kustomizations of one stack, in the folder `kubernetes` of its state folder."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        require_sensible(settings)
        self.settings, self.keys, self.tag = settings, keys, image_tag(settings.origin)
        self.folder = settings.state / "kubernetes"
        # As containers see the database.
        self._inside = replace(settings, options={**settings.options, "DATABASE_CA": AUTHORITY})
        self._urls = Keys(self._inside)
        self._services = {name: self._service(name) for name in SERVICES}
        self._generated = {
            **({"postgresql": self._of_cluster()} if has_cluster(settings) else {}),
            "migrations": self._of_migrations(),
            "services": self._read_by(*SERVICES),
            "bootstrap": self._of_bootstrap(),
        }
        # A Job is never changed: other sources, settings or passwords make another one.
        state = f"{self.tag} {self._generated['migrations']}"
        self.job = f"migrations-{tools.content_digest(state, BASES / 'migrations')[:12]}"

    def write(self) -> None:
        """Write the folder anew."""
        shutil.rmtree(self.folder, ignore_errors=True)
        private_files.make_folder(self.folder)
        patches = {
            "postgresql": self._backup_patches,
            "migrations": self._job_patches,
            "services": self._site_patches,
        }
        for step, generated in self._generated.items():
            overlay = Overlay(BASES / step, generated, {} if step == "postgresql" else self._images())
            if step in patches:
                overlay.patches = patches[step]()
            if step == "migrations" and not has_cluster(self.settings):
                overlay.resources["database.yaml"] = self._policy_of_servers()
            overlay.write(self.folder / step, NAMESPACE)

    def commands(self) -> list[tuple[str, list[str]]]:
        """Return the steps in their order, each with what a person types."""
        wait = f"kubectl wait --namespace {NAMESPACE} --for=condition"
        people = "demo" if self.settings.demo else "first-administrator --email ... --name ..."
        run = f"kubectl exec --namespace {NAMESPACE} bootstrap -- python -m functions.edge.bootstrap {people}"
        then = {
            "postgresql": [f"{wait}=Ready --timeout=15m clusters.postgresql.cnpg.io/{CLUSTER}"],
            "migrations": [f"{wait}=Complete --timeout=30m job/{self.job}"],
            "services": [
                f"kubectl rollout status --namespace {NAMESPACE} --timeout=15m deployments,statefulsets"
            ],
            "bootstrap": [
                f"{wait}=Ready --timeout=5m pod/bootstrap",
                run,
                f"kubectl delete --namespace {NAMESPACE} pod/bootstrap",
            ],
        }
        steps = [
            (TITLES[step], [f"{APPLY} {shlex.quote(str(self.folder / step))}", *then[step]])
            for step in self._generated
        ]
        return [("The images, in the checkout", self._builds()), *steps]

    def _builds(self) -> list[str]:
        arguments = {"gateway": ["--build-arg", f"SITE_URL={self.settings.origin}"]}
        return [
            shlex.join(
                ["docker", "build", "--push", "--tag", image, *arguments.get(name, []), "--file", file, "."]
            )
            for (name, file), image in zip(DOCKERFILES.items(), self._images().values(), strict=True)
        ]

    def _images(self) -> dict[str, str]:
        registry = self.settings.options["IMAGE_REGISTRY"]
        return {f"harborline/{name}": f"{registry}/{name}:{self.tag}" for name in DOCKERFILES}

    def _service(self, name: str) -> list[Generated]:
        """Return the settings of a service, and what is secret of them: files wherever it reads files."""
        values = {
            **compose.values(self.settings, self.keys),
            "INSTANCES": REPLICAS,
            "DATABASE": self._inside.database(),
            "KEYS": SECRETS,
            "BACKUPS_PATH": "",
            # Those of the database and of the receipts are others' to watch.
            "DISK_FOLDERS": json.dumps({"the worker": "/worker"}),
        }
        given = environment.fill(name, values) | (
            environment.fill("auth-limits", values) if name == "auth" else {}
        )
        files = {
            setting: secret(setting, given.pop(setting, "")) for setting in compose.SECRETS.get(name, ())
        }
        files |= {file: (self.keys.folder / file).read_text() for file in _key_files(given)}
        variables = {
            setting: given.pop(setting) for setting in FROM_ENVIRONMENT.get(name, ()) if setting in given
        }
        found = [
            Generated(CONFIG_MAP, f"{name}-settings", given, are_variables=True),
            Generated(SECRET, f"{name}-secrets", {key: text for key, text in files.items() if text}),
            Generated(SECRET, f"{name}-environment", variables, are_variables=True),
        ]
        return [item for item in found if item.texts]

    def _read_by(self, *names: str) -> list[Generated]:
        return [item for name in names for item in self._services[name]]

    def _of_cluster(self) -> list[Generated]:
        store = repository.of(self.settings)
        assert store, "require_sensible"
        access = {
            "ACCESS_KEY_ID": store.access["BACKUP_S3_KEY"],
            "SECRET_ACCESS_KEY": store.access["BACKUP_S3_SECRET"],
            "REGION": store.access.get("BACKUP_S3_REGION", "us-east-1"),
        }
        if authority := store.access.get("BACKUP_S3_CA"):
            access["ca.crt"] = Path(authority).read_text()
        owner = {"username": OWNER, "password": self.keys.values["PASSWORD_postgres"]}
        preparation = {"prepare.sql": elsewhere.preparation(self.settings, self.keys)}
        return [
            Generated(SECRET, f"{CLUSTER}-owner", owner, is_fixed=True, kind="kubernetes.io/basic-auth"),
            Generated(SECRET, f"{CLUSTER}-preparation", preparation, is_fixed=True),
            Generated(SECRET, f"{CLUSTER}-backups", access, is_fixed=True),
        ]

    def _of_migrations(self) -> list[Generated]:
        addresses = {name: self._urls.database_url(role) for name, role in SQL_ROLES.items()}
        files = {
            # The CLI knows no list of servers: the Job finds the one that takes writes.
            "owner": self._urls.database_url("postgres", server="PRIMARY"),
            "pg_service.conf": "".join(_service_entry(name, url) for name, url in addresses.items()),
            "passwords.sql": password_statements(self.keys, PASSWORDS_AFTER),
        }
        statements = {
            "prepared.sql": elsewhere.require_prepared_statement(self.settings),
            **{file.name: bootstrap_text(file, self.settings) for file in AFTER_SERVICES},
        }
        # Who only migrates reads files alone.
        read = self._read_by("auth", "storage", "worker")
        found = [
            *(item for item in read if item.generator == CONFIG_MAP or not item.are_variables),
            Generated(SECRET, "migrations-secrets", files),
            Generated(CONFIG_MAP, "migrations-sql", statements),
        ]
        if not has_cluster(self.settings):
            # The cluster's own is made by its operator, under the same name.
            known = Path(self.settings.options.get("DATABASE_CA", options.SYSTEM_AUTHORITIES)).read_text()
            found.append(Generated(SECRET, f"{CLUSTER}-ca", {"ca.crt": known}, is_fixed=True))
        return found

    def _of_bootstrap(self) -> list[Generated]:
        settings, secrets = self._services["edge"]
        texts = {**secrets.texts, "DATABASE_URL": self._urls.database_url("postgres")}
        return [settings, Generated(SECRET, "bootstrap-secrets", texts)]

    def _job_patches(self) -> list[dict[str, Any]]:
        name = {"op": "replace", "path": "/metadata/name", "value": self.job}
        return [json_patch("Job", "migrations", [name], allowNameChange=True)]

    def _site_patches(self) -> list[dict[str, Any]]:
        host, places = urlsplit(self.settings.origin).hostname, ("/spec/tls/0/hosts/0", "/spec/rules/0/host")
        return [
            json_patch(
                "Ingress", "gateway", [{"op": "replace", "path": place, "value": host} for place in places]
            )
        ]

    def _backup_patches(self) -> list[dict[str, Any]]:
        """Return where the backups go and how long they stay; the S3 server may have a port of its own."""
        store = repository.of(self.settings)
        assert store, "require_sensible"
        endpoint = store.access["BACKUP_S3_ENDPOINT"]
        place = "/spec/configuration"
        changes: list[dict[str, Any]] = [
            {"op": "replace", "path": f"{place}/destinationPath", "value": store.location},
            {"op": "add", "path": f"{place}/endpointURL", "value": endpoint},
            {"op": "replace", "path": "/spec/retentionPolicy", "value": f"{store.days}d"},
        ]
        if "BACKUP_S3_CA" in store.access:
            authority = {"name": f"{CLUSTER}-backups", "key": "ca.crt"}
            changes.append({"op": "add", "path": f"{place}/endpointCA", "value": authority})
        port = {"protocol": "TCP", "port": urlsplit(endpoint).port or 443}
        reached = {"op": "add", "path": "/spec/egress/1/ports/-", "value": port}
        return [
            json_patch("ObjectStore", CLUSTER, changes),
            *([json_patch("NetworkPolicy", "database-servers", [reached])] if port["port"] != 443 else []),
        ]

    def _policy_of_servers(self) -> dict[str, Any]:
        """Return the way to servers outside of Kubernetes: policies know their addresses by number alone."""
        ports = sorted({port for _, port in options.servers(self.settings.options["DATABASE_SERVER"])})
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "database"},
            "spec": {
                "podSelector": {"matchLabels": {"network.harborline/database": "true"}},
                "policyTypes": ["Egress"],
                "egress": [{"ports": [{"protocol": "TCP", "port": port} for port in ports]}],
            },
        }


def image_tag(origin: str) -> str:
    """Return the tag of the images: other sources have another one, and so has another site."""
    files = [ROOT / file for file in DOCKERFILES.values()]
    copied = [
        ROOT / name for file in files for line in COPIED.findall(file.read_text()) for name in line.split()
    ]
    # The sources of the web app, without what is made beside them.
    sources = [
        part for source in copied for part in (tools.web_sources() if source == tools.WEB else [source])
    ]
    return tools.content_digest(origin, *files, *sources)[:12]


def _key_files(given: dict[str, str]) -> list[str]:
    """Return the files of the keys folder that settings name."""
    paths = (text.removeprefix("@") for text in given.values())
    return [path.removeprefix(f"{SECRETS}/") for path in paths if path.startswith(f"{SECRETS}/")]


def _service_entry(name: str, url: str) -> str:
    """Return an address of the database for libpq's service file: no command line holds its password."""
    lines = "".join(f"{key}={value}\n" for key, value in conninfo_to_dict(url).items())
    return f"[{name}]\n{lines}"
