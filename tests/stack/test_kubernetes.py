"""supabase/kubernetes describes the same stack as docker-compose.yml; by form alone, without a cluster."""

import json
import re
import shutil
import subprocess
from copy import deepcopy
from typing import Any

import pytest
import yaml

from launcher import kubernetes
from launcher.containers import compose
from launcher.services import health
from launcher.settings import Settings
from tests.support.compose_project import ROOT, described
from tests.support.kubernetes_manifests import (
    ALL_PODS,
    DESCRIBED,
    EVERYTHING,
    SERVICES,
    STEPS,
    Written,
    containers,
    pods,
    resource,
)
from tests.support.kubernetes_schema import errors

CASES = [(step, place) for place in ("described", "filled") for step in STEPS]
# PostgREST's second path asks nothing of its database.
LIVE = {"/ready": "/live"}


@pytest.mark.parametrize(("step", "place"), CASES)
def test_each_manifest_has_the_form_that_kubernetes_and_its_operators_allow(
    written: Written, step: str, place: str
) -> None:
    found = written.steps[step] if place == "filled" else DESCRIBED[step]
    assert {
        f"{each['kind']} {each['metadata']['name']}": errors(each) for each in found if errors(each)
    } == {}
    for each in found:
        wrong = deepcopy(each)
        wrong["spec" if "spec" in each else "metadata"]["instanzes"] = 3
        assert errors(wrong), f"it sees what is wrong with a {each['kind']}"


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
@pytest.mark.parametrize("step", STEPS)
def test_kubectl_builds_the_same_of_the_files(written: Written, step: str) -> None:
    command = ["kubectl", "kustomize", str(written.folder / step)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    mine = written.steps[step]
    for each in mine:
        if each["kind"] in ("Secret", "ConfigMap"):
            # Their digest is all that is not built here.
            text = re.sub(
                rf"\b{each['metadata']['name']}-[a-z0-9]{{10}}$", each["metadata"]["name"], text, flags=re.M
            )
    theirs = [*yaml.safe_load_all(text)]
    for each in theirs:
        if each["kind"] == "Secret":
            each["data"] = {key: value.replace("\n", "") for key, value in each["data"].items()}
    assert sorted(map(ordered, mine)) == sorted(map(ordered, theirs))


def ordered(node: Any) -> str:
    """Return a text that is equal for what differs only in the order of lists and keys."""
    if isinstance(node, dict):
        return json.dumps({key: ordered(value) for key, value in node.items()}, sort_keys=True)
    return json.dumps(sorted(map(ordered, node)) if isinstance(node, list) else node)


@pytest.mark.parametrize("name", sorted(ALL_PODS))
def test_a_container_gains_no_right_and_takes_no_more_than_its_share(name: str) -> None:
    pod = ALL_PODS[name]
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] >= 999
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"} & pod.keys()
    for container in containers(pod):
        # Without it Caddy's file, which has it, would not start.
        added = {"add": ["NET_BIND_SERVICE"]} if name == "gateway" else {}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], **added},
        }
        contained = yaml.safe_load((ROOT / "supabase/stack/contained.yml").read_text())["services"][
            "contained"
        ]
        limits = {"cpu": str(contained["cpus"]), "memory": contained["mem_limit"].replace("m", "Mi")}
        assert container["resources"]["limits"] == limits
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"]
        assert re.search(r":v?\d", container["image"]), "named by a tag"
        assert container["imagePullPolicy"] == "IfNotPresent"
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["tmp"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Mi"}
    assert all(volume["emptyDir"]["sizeLimit"] for volume in volumes.values() if "emptyDir" in volume)
    assert not any("hostPath" in volume for volume in volumes.values())


def test_the_users_are_those_of_the_images() -> None:
    functions = (ROOT / "functions" / "Dockerfile").read_text()
    gateway = (ROOT / "supabase" / "gateway" / "Dockerfile").read_text()
    users = {
        "functions": re.findall(r"useradd --uid (\d+)", functions)[0],
        "gateway": re.findall(r"adduser .*-u (\d+)", gateway)[0],
        "postgrest": described("")["postgrest"]["user"].partition(":")[0],
    }
    for name, pod in ALL_PODS.items():
        wanted = users.get(name, users["functions"])
        assert str(pod["securityContext"]["runAsUser"]) == wanted, name


def test_the_images_are_those_of_compose(written: Written) -> None:
    project = r"${COMPOSE_PROJECT_NAME:?Variable not set}"
    composed = {
        name: service["image"].replace(project, "harborline") for name, service in described("").items()
    }
    for name in SERVICES:
        assert [each["image"] for each in containers(ALL_PODS[name])] == [composed[name]]
    assert {each["image"] for each in containers(ALL_PODS["migrations"])} == {
        composed[name] for name in ("auth", "migrations", "grants")
    }
    own = {
        f"registry.example.org:5000/harborline/{name}:{written.manifests.tag}"
        for name in kubernetes.DOCKERFILES
    }
    used = {
        each["image"]
        for step in ("migrations", "services", "bootstrap")
        for pod in pods(written.steps[step]).values()
        for each in containers(pod)
    }
    assert used - own == {composed["grants"], composed["postgrest"]}
    assert own <= used


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_two_that_are_replaced_one_after_the_other(name: str) -> None:
    services = DESCRIBED["services"]
    kind = "StatefulSet" if name == "worker" else "Deployment"
    spec = resource(services, kind, name)["spec"]
    assert spec["replicas"] == 2
    assert spec["selector"] == {"matchLabels": {"app.kubernetes.io/name": name}}
    if kind == "Deployment":
        assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = ALL_PODS[name]
    assert pod["labels"]["app.kubernetes.io/name"] == name
    (container,) = pod["containers"]
    leaving = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert leaving >= 10, "longer than a statement takes"
    composed = int(described("")[name].get("stop_grace_period", "10s").removesuffix("s"))
    assert pod["terminationGracePeriodSeconds"] >= composed + leaving
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert spread["labelSelector"]["matchLabels"].items() <= pod["labels"].items()
    assert "app.kubernetes.io/name" in spread["matchLabelKeys"]
    budget = resource(services, "PodDisruptionBudget", name)["spec"]
    assert budget == {"minAvailable": 1, "selector": spec["selector"]}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    served = resource(services, "Service", name)["spec"]
    assert served["selector"] == {"app.kubernetes.io/name": name}
    reached = {port["port"]: ports[port["targetPort"]] for port in served["ports"]}
    assert all(port == inside for port, inside in reached.items())


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_asked_what_the_launcher_asks(written: Written, name: str) -> None:
    domain = Settings(
        state=written.settings.state,
        ports=written.settings.ports,
        # The request to a gateway's internal port, behind which no other service is.
        options={**written.settings.options, "SITE_DOMAIN": "example.org"},
    )
    asked = health.requests(domain, written.keys)[name].url.path
    host, port = compose.ADDRESSES[{"postgrest": "postgrest_admin", "gateway": "internal"}.get(name, name)]
    assert host == name
    (container,) = ALL_PODS[name]["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        request = container[probe]["httpGet"]
        path = LIVE.get(asked, asked) if probe == "livenessProbe" else asked
        assert (request["path"], ports[request["port"]]) == (path, port), probe
        assert container[probe]["timeoutSeconds"] >= 2
    alive = container["livenessProbe"]
    assert alive["periodSeconds"] * alive["failureThreshold"] >= 300, (
        "a failover of the database restarts nothing"
    )


def test_the_migrations_run_in_the_order_of_compose() -> None:
    names = [each["name"] for each in containers(ALL_PODS["migrations"])]
    assert names == [
        "prepared",
        "auth",
        "storage",
        "rights-auth",
        "rights-storage",
        "history",
        "primary",
        "product",
        "passwords",
        "worker",
    ]
    by_name = {each["name"]: each for each in containers(ALL_PODS["migrations"])}
    composed = described("")["migrations"]
    # The same command, with an address that is whole.
    push = composed["command"][0].partition("--db-url=")[0]
    assert push in by_name["product"]["args"][0]
    (target,) = [mount.split(":")[0] for mount in composed["tmpfs"] if mount.startswith("/app")]
    assert target in {mount["mountPath"] for mount in by_name["product"]["volumeMounts"]}
    for name in ("auth", "storage", "worker"):
        assert by_name[name]["command"] == [*described("")[name]["command"], "migrate"]
    job = resource(EVERYTHING, "Job", "migrations")["spec"]
    assert job["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert job["backoffLimit"] >= 6
