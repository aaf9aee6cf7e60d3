"""The CloudNativePG cluster of supabase/kubernetes: its servers, its first database and its backups."""

import re
from pathlib import Path

from launcher.database import cluster
from launcher.settings import Settings
from tests.support.kubernetes_manifests import EVERYTHING, Written, resource
from tests.support.kustomization import Resource


def test_the_cluster_has_a_second_server_for_each_commit_and_room_for_all_services() -> None:
    spec = resource(EVERYTHING, "Cluster", "harborline-database")["spec"]
    assert spec["instances"] == 3
    assert spec["postgresql"]["synchronous"] == {
        "method": "any",
        "number": 1,
        "dataDurability": "required",
        "failoverQuorum": True,
    }
    assert spec["affinity"]["podAntiAffinityType"] == "required"
    assert spec["enableSuperuserAccess"] is False
    assert spec["postgresql"]["pg_hba"] == ["hostnossl all all all reject"]
    assert re.search(r":15\.\d+-\d+-standard-bookworm@sha256:[0-9a-f]{64}$", spec["imageName"])
    assert int(spec["postgresql"]["parameters"]["max_connections"]) >= 200


def test_the_servers_are_configured_as_the_native_one() -> None:
    parameters = resource(EVERYTHING, "Cluster", "harborline-database")["spec"]["postgresql"]["parameters"]
    listener = cluster.Listener("127.0.0.1", 8000, "", "127.0.0.1/32", cluster.crash_sync_method())
    lines = [
        line.split(" = ")
        for line in cluster.configuration(Settings(state=Path("/nowhere")), listener, "").splitlines()
        if " = " in line
    ]
    native = {name: value.strip("'") for name, value in lines}
    # By the size of the machine, and what the operator decides.
    sized = {"max_connections", "shared_buffers", "effective_cache_size"}
    own = {
        *(
            "listen_addresses",
            "port",
            "unix_socket_directories",
            "unix_socket_permissions",
            "log_line_prefix",
        ),
        *("archive_mode", "archive_command", "recovery_init_sync_method", "fsync", "full_page_writes"),
        "superuser_reserved_connections",
    }
    assert parameters.keys() - sized == native.keys() - sized - own
    assert {name: parameters[name] for name in parameters.keys() - sized} == {
        name: native[name] for name in parameters.keys() - sized
    }


def test_the_cluster_begins_with_the_products_database(written: Written) -> None:
    initdb = resource(written.steps["postgresql"], "Cluster", "harborline-database")["spec"]["bootstrap"][
        "initdb"
    ]
    assert (initdb["database"], initdb["owner"]) == ("harborline", "harborline")
    owner = written.texts("postgresql", "Secret", initdb["secret"]["name"])
    assert owner == {"username": "harborline", "password": written.keys.values["PASSWORD_postgres"]}
    ((reference,),) = initdb["postInitApplicationSQLRefs"].values()
    statements = written.texts("postgresql", "Secret", reference["name"])[reference["key"]]
    assert not re.search(r"^\\", statements, re.MULTILINE), "the operator is no psql"
    assert "'SCRAM-SHA-256$" in statements
    assert not any(
        text in statements for name, text in written.keys.values.items() if name.startswith("PASSWORD_")
    )


def test_the_backups_go_where_the_operator_says(written: Written, tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_text("the authority")
    other = Written(
        tmp_path / "state", BACKUP_S3_CA=str(authority), BACKUP_DAYS="45", BACKUP_S3_ENDPOINT="https://s3"
    )
    store = resource(written.steps["postgresql"], "ObjectStore", "harborline-database")["spec"]
    configuration = store["configuration"]
    assert (configuration["destinationPath"], store["retentionPolicy"]) == ("s3://backups/prefix", "30d")
    assert configuration["endpointURL"] == "https://s3.example.org:9000"
    secret = written.texts("postgresql", "Secret", "harborline-database-backups")
    read = {what: secret[place["key"]] for what, place in configuration["s3Credentials"].items()}
    assert read == {
        "accessKeyId": "the id of the backups",
        "secretAccessKey": "the key of the backups",
        "region": "us-east-1",
    }

    def ports(steps: dict[str, list[Resource]]) -> set[int]:
        policy = resource(steps["postgresql"], "NetworkPolicy", "database-servers")["spec"]
        return {port["port"] for port in policy["egress"][1]["ports"]}

    assert ports(written.steps) - ports(other.steps) == {9000}
    place = resource(other.steps["postgresql"], "ObjectStore", "harborline-database")["spec"]
    named = place["configuration"]["endpointCA"]
    assert other.texts("postgresql", "Secret", named["name"])[named["key"]] == "the authority"
    assert place["retentionPolicy"] == "45d"
    spec = resource(written.steps["postgresql"], "Cluster", "harborline-database")["spec"]
    (archiver,) = spec["plugins"]
    assert archiver["isWALArchiver"] is True
    assert archiver["parameters"] == {"barmanObjectName": "harborline-database"}
    schedule = resource(written.steps["postgresql"], "ScheduledBackup", "harborline-database")["spec"]
    assert schedule["cluster"] == {"name": "harborline-database"}
    assert schedule["pluginConfiguration"]["name"] == archiver["name"]
    assert len(schedule["schedule"].split()) == 6
