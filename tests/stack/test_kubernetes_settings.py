"""What the launcher writes for supabase/kubernetes: settings and secrets of a stack, and the commands."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from launcher import kubernetes
from launcher.host import environment
from launcher.kubernetes import Manifests
from launcher.terminal import Stop
from tests.support.kubernetes_manifests import (
    ALL_PODS,
    GIVEN,
    SERVICES,
    STEPS,
    Written,
    containers,
    pods,
    resource,
    stack,
)
from tests.support.kubernetes_schema import errors


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_reads_the_settings_of_the_native_one(written: Written, name: str) -> None:
    settings = written.texts("services", "ConfigMap", f"{name}-settings")
    found = written.steps["services"]
    secret = {
        kind: written.texts("services", "Secret", f"{name}-{kind}")
        for kind in ("secrets", "environment")
        if f"{name}-{kind}" in {each["metadata"]["name"] for each in found}
    }
    keys = {file for file in secret.get("secrets", {}) if file.endswith(".json")}
    given = [*settings, *(setting for texts in secret.values() for setting in texts if setting not in keys)]
    assert len(given) == len({*given}), "each setting stands once"
    wanted = environment.service(name, written.settings, written.keys)
    # No program that makes backups runs beside the worker.
    assert {*given} == {*wanted} - {*environment.base(), "BACKUPS_PATH"}
    assert "127.0.0.1" not in str(settings)
    assert all(f"{kubernetes.SECRETS}/{file}" in str(settings) for file in keys)
    for file in keys:
        assert secret["secrets"][file] == (written.keys.folder / file).read_text()


def test_what_is_secret_lies_in_secrets_and_in_files_wherever_the_service_reads_them(
    written: Written,
) -> None:
    public = {"SUPABASE_ANON_KEY", "LEGACY_KEY_ID"}
    hidden = {text for name, text in written.keys.values.items() if name not in public}
    named = ("SMTP_PASS", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "BACKUP_S3_KEY", "BACKUP_S3_SECRET")
    hidden |= {GIVEN[name] for name in named}
    for resources in written.steps.values():
        for each in resources:
            if each["kind"] != "Secret":
                assert not any(text in str(each) for text in hidden), each["metadata"]["name"]
    exempt = {"storage-environment": {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}}
    exempt["gateway-environment"] = {"SUPABASE_SERVICE_ROLE_KEY"}
    for step in ("migrations", "services", "bootstrap"):
        for pod in pods(written.steps[step]).values():
            for container in containers(pod):
                read = [
                    way["secretRef"]["name"] for way in container.get("envFrom", []) if "secretRef" in way
                ]
                for name in read:
                    assert {*written.texts(step, "Secret", name)} == exempt[name]
    assert written.texts("services", "Secret", "storage-environment")["AWS_SECRET_ACCESS_KEY"] == (
        "the = key # of $the receipts"
    )
    # Administrators' tokens are signed by edge alone.
    for name in ("storage", "postgrest"):
        assert "admin.json" not in written.texts("services", "Secret", f"{name}-secrets")


@pytest.mark.parametrize("step", ["migrations", "services", "bootstrap"])
def test_whatever_is_named_is_there_and_whatever_is_there_is_named(written: Written, step: str) -> None:
    found = written.steps[step]
    there = {each["metadata"]["name"] for each in found if each["kind"] in ("Secret", "ConfigMap")}
    named = set()
    for pod in pods(found).values():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for container in containers(pod):
            assert {mount["name"] for mount in container["volumeMounts"]} <= {*volumes, "heads"}
            named |= {
                (way.get("configMapRef") or way["secretRef"])["name"] for way in container.get("envFrom", [])
            }
        named |= {volume["secret"]["secretName"] for volume in volumes.values() if "secret" in volume}
        named |= {volume["configMap"]["name"] for volume in volumes.values() if "configMap" in volume}
    # The operator of the cluster makes this one.
    assert named - {"harborline-database-ca"} == there


def test_of_the_database_authority_no_container_gets_the_key() -> None:
    reading = 0
    for name, pod in ALL_PODS.items():
        for volume in pod["volumes"]:
            if volume.get("secret", {}).get("secretName") == "harborline-database-ca":
                reading += 1
                assert volume["secret"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}], name
    assert reading == len(ALL_PODS) - 1, "all but the gateway"


def test_the_database_is_spoken_to_by_name_and_with_tls(written: Written) -> None:
    urls = [
        written.texts(step, "Secret", name)[setting]
        for step, name, setting in (
            ("services", "auth-secrets", "DATABASE_URL"),
            ("services", "postgrest-secrets", "PGRST_DB_URI"),
            ("bootstrap", "bootstrap-secrets", "DATABASE_URL"),
        )
    ]
    for url in urls:
        assert "@harborline-database-rw:5432/harborline?" in url
        assert "sslmode=verify-full&sslrootcert=/database/ca.crt" in url
    assert urls[-1].startswith("postgresql://harborline:")
    migrations = written.texts("migrations", "Secret", "migrations-secrets")
    assert "@PRIMARY/harborline?connect_timeout=3&sslmode=verify-full&sslrootcert=" in migrations["owner"]
    entries = migrations["pg_service.conf"]
    assert re.findall(r"^\[(\w+)\]\nuser=(\w+)", entries, re.MULTILINE) == [
        ("owner", "harborline"),
        ("supabase_auth_admin", "supabase_auth_admin"),
        ("supabase_storage_admin", "supabase_storage_admin"),
    ]
    assert entries.count("sslmode=verify-full\nsslrootcert=/database/ca.crt\n") == 3


def test_other_passwords_or_another_site_are_another_job(written: Written, tmp_path: Path) -> None:
    def job() -> str:
        return Manifests(written.settings, written.keys).job

    before = job()
    assert before == written.manifests.job == job()
    assert resource(written.steps["migrations"], "Job", before)
    assert Written(tmp_path / "other").manifests.job != before
    settings, keys = written.settings, written.keys
    try:
        settings.options["SITE_URL"] = "https://other.example"
        assert Manifests(settings, keys).job != before
        assert Manifests(settings, keys).tag != written.manifests.tag, (
            "the site's name is in the gateway's pages"
        )
    finally:
        settings.options["SITE_URL"] = GIVEN["SITE_URL"]


@pytest.mark.parametrize(
    "name",
    [
        *("SITE_URL", "TRUSTED_PROXIES", "DATABASE_SERVER", "STORAGE_URL", "SMTP_HOST", "IMAGE_REGISTRY"),
        *("DATABASE_NAME", "DATABASE_OWNER", "BACKUP_REPOSITORY"),
    ],
)
def test_what_lacks_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(Stop, match=rf"\n    {name}: "):
        Manifests(*stack(tmp_path, **{name: ""}))


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("without a port", {"SITE_URL": "https://harborline.example:8443"}),
        ("has HTTPS", {"SITE_URL": "http://harborline.example"}),
        ("has HTTPS", {"SITE_DOMAIN": "harborline.example"}),
        ("STORAGE_URL is s3:", {"STORAGE_URL": "file:///srv/receipts"}),
        ("BACKUP_REPOSITORY is s3:", {"BACKUP_REPOSITORY": "/mnt/backups"}),
        ("name BACKUP_S3_SECRET too", {"BACKUP_S3_SECRET": ""}),
        ("is this machine", {"DATABASE_SERVER": "127.0.0.1:5432"}),
        ("DATABASE_OWNER=harborline", {"DATABASE_OWNER": "postgres"}),
        ("DATABASE_NAME=harborline", {"DATABASE_NAME": "postgres"}),
        ("is no place", {"IMAGE_REGISTRY": "https://registry.example.org"}),
        ("SMTP_USER holds a line break", {"SMTP_USER": "two\nlines"}),
    ],
)
def test_what_is_of_no_use_there_is_rejected_in_words(
    written: Written, tmp_path: Path, words: str, options: dict[str, str]
) -> None:
    shutil.copytree(written.keys.folder, tmp_path / "keys")
    with pytest.raises(Stop, match=words):
        Manifests(*stack(tmp_path, **options)).write()


def test_servers_of_the_operators_own_are_reached_with_their_authority(tmp_path: Path) -> None:
    authority = tmp_path / "database.pem"
    authority.write_text("the authority")
    servers = "db1.example.org:5432,db2.example.org:6432"
    other = Written(
        tmp_path / "state", DATABASE_SERVER=servers, DATABASE_CA=str(authority), BACKUP_REPOSITORY=""
    )
    assert [*other.steps] == ["bootstrap", "migrations", "services"]
    assert other.texts("migrations", "Secret", "harborline-database-ca") == {"ca.crt": "the authority"}
    policy = resource(other.steps["migrations"], "NetworkPolicy", "database")
    assert errors(policy) == []
    assert policy["spec"]["egress"] == [
        {"ports": [{"protocol": "TCP", "port": 5432}, {"protocol": "TCP", "port": 6432}]}
    ]
    url = other.texts("services", "Secret", "edge-secrets")["DATABASE_URL"]
    assert f"@{servers}/harborline?" in url
    assert "sslrootcert=/database/ca.crt" in url
    assert not any(
        "wait=" in line or "postgresql" in line for _, lines in other.manifests.commands() for line in lines
    )


def test_only_the_owner_reads_what_is_written(written: Written) -> None:
    for path in (written.folder, *written.folder.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    for path in written.folder.iterdir():
        (base,) = yaml.safe_load((path / "kustomization.yaml").read_text())["resources"]
        assert (path / base).resolve() == kubernetes.BASES / path.name


def test_the_commands_lead_through_the_steps(written: Written) -> None:
    builds, *steps = [lines for _, lines in written.manifests.commands()]
    assert len(builds) == len(kubernetes.DOCKERFILES)
    assert all(line.startswith("docker build --push ") for line in builds)
    assert sum("SITE_URL=https://harborline.example " in line for line in builds) == 1
    for step, (apply, wait, *_) in zip(STEPS, steps, strict=True):
        assert apply == f"kubectl apply --server-side -k {written.folder / step}"
        # What is replaced is available all the while.
        awaiting = "rollout status" if step == "services" else "wait"
        assert wait.startswith(f"kubectl {awaiting} --namespace harborline "), "each is awaited"
    assert steps[1][1].endswith(f"job/{written.manifests.job}")
    assert "first-administrator --email" in steps[-1][2]
    ingress = resource(written.steps["services"], "Ingress", "gateway")["spec"]
    assert ingress["tls"] == [{"hosts": ["harborline.example"], "secretName": "harborline-tls"}]
    assert [rule["host"] for rule in ingress["rules"]] == ["harborline.example"]


def test_limits_of_an_address_are_divided_by_the_replicas(written: Written) -> None:
    (name,) = {
        resource["metadata"]["name"]
        for resource in written.steps["services"]
        if resource["kind"] == "ConfigMap" and resource["metadata"]["name"].startswith("auth")
    }
    given = written.texts("services", "ConfigMap", name)
    (deployment,) = [
        resource
        for resource in written.steps["services"]
        if resource["kind"] == "Deployment" and resource["metadata"]["name"] == "auth"
    ]
    assert given["HARBORLINE_INSTANCES"] == str(deployment["spec"]["replicas"])
