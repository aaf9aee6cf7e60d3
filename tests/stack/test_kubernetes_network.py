"""Who reaches whom in supabase/kubernetes, as its policies say: what the settings name, and nothing else."""

import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from launcher.containers import compose
from tests.support.compose_project import described
from tests.support.kubernetes_manifests import ALL_PODS, POLICIES, SERVICES, Written, labels_of


def selected(selector: dict[str, Any]) -> set[str]:
    """Return the pods that a selector means."""
    assert selector.keys() <= {"matchLabels"}
    wanted = selector.get("matchLabels", {})
    return {name for name in ALL_PODS if wanted.items() <= labels_of(name).items()}


def paths(direction: str, peer: str) -> set[tuple[str, str, int]]:
    """Return from whom to whom at which port the policies of pods let one pod reach another."""
    found = set()
    for policy in POLICIES.values():
        assert direction in policy["policyTypes"] or direction.lower() not in policy
        for rule in policy.get(direction.lower(), []):
            for end in rule.get(peer, []):
                if "podSelector" not in end or "namespaceSelector" in end:
                    continue
                for own in selected(policy["podSelector"]):
                    for other in selected(end["podSelector"]):
                        pair = (other, own) if direction == "Ingress" else (own, other)
                        found |= {(*pair, port["port"]) for port in rule["ports"]}
    return found


def test_a_service_reaches_what_its_settings_name_and_nothing_else(written: Written) -> None:
    wanted = set()
    for name in (*SERVICES, "bootstrap"):
        settings = written.texts(
            "services", "ConfigMap", f"{'edge' if name == 'bootstrap' else name}-settings"
        )
        for host, port in compose.ADDRESSES.values():
            if host != name and re.search(rf"\b{host}:{port}\b", " ".join(settings.values())):
                wanted.add((name, host, port))
    assert wanted == paths("Egress", "to") == paths("Ingress", "from")
    composed = described("")
    for client, server, _ in wanted:
        as_composed = "seed" if client == "bootstrap" else client
        assert set(composed[as_composed]["networks"]) & set(composed[server]["networks"]), (
            f"{client} {server}"
        )


def test_every_other_way_is_closed() -> None:
    assert POLICIES["closed"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    public = {
        name: [rule["ports"] for rule in spec.get("ingress", []) if "from" not in rule]
        for name, spec in POLICIES.items()
    }
    assert {name: ports for name, ports in public.items() if ports} == {
        "gateway": [[{"protocol": "TCP", "port": 8000}]],
        # Of no pod of ours.
        "certificate": [[{"protocol": "TCP", "port": 8089}]],
    }
    assert selected(POLICIES["certificate"]["podSelector"]) == set()
    anywhere = {
        name for name, spec in POLICIES.items() if any("to" not in rule for rule in spec.get("egress", []))
    }
    assert anywhere == {"database-servers"}, "only these ask the API of Kubernetes"


def test_who_reaches_the_database_and_the_internet_is_who_does_with_compose() -> None:
    composed = described("")
    names = {"bootstrap": "seed", "migrations": "migrations", **{name: name for name in SERVICES}}
    for name, as_composed in names.items():
        networks = set(composed[as_composed]["networks"])
        assert (labels_of(name).get("network.harborline/database") == "true") == ("database" in networks), (
            name
        )
        assert (labels_of(name).get("network.harborline/outside") == "true") == ("outside" in networks), name
    servers = {"matchLabels": {"cnpg.io/cluster": "harborline-database"}}
    way = [{"protocol": "TCP", "port": 5432}]
    assert POLICIES["database"]["podSelector"] == {"matchLabels": {"network.harborline/database": "true"}}
    assert POLICIES["database"]["egress"] == [{"to": [{"podSelector": servers}], "ports": way}]
    assert POLICIES["database-servers"]["podSelector"] == servers
    assert POLICIES["database-servers"]["ingress"][0] == {
        "from": [{"podSelector": POLICIES["database"]["podSelector"]}],
        "ports": way,
    }
    assert POLICIES["outside"]["podSelector"] == {"matchLabels": {"network.harborline/outside": "true"}}


@pytest.mark.parametrize(
    ("address", "is_reached"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("10.42.0.7", False),
        ("172.20.0.1", False),
        ("192.168.1.1", False),
        ("100.64.3.1", False),
        # Clouds give a machine's own rights there to whoever asks.
        ("169.254.169.254", False),
        ("fd00::1", False),
        ("fe80::1", False),
    ],
)
def test_the_internet_is_neither_the_cluster_nor_its_machines(address: str, is_reached: bool) -> None:
    (rule,) = POLICIES["outside"]["egress"]
    blocks = [end["ipBlock"] for end in rule["to"]]
    reached = any(
        ip_address(address) in ip_network(block["cidr"])
        and not any(ip_address(address) in ip_network(network) for network in block["except"])
        for block in blocks
    )
    assert reached == is_reached
