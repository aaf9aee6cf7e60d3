"""What a stack must be told before it can run in Kubernetes."""

import re
from urllib.parse import urlsplit

from launcher import options
from launcher.backups import repository
from launcher.settings import Settings
from launcher.terminal import Stop

# What supabase/kubernetes/postgresql makes: the Cluster, and its database and its owner, which share a name.
CLUSTER, OWNER = "harborline-database", "harborline"
REGISTRY = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
NEEDED = {
    "SITE_URL": "the site's origin, such as https://example.org",
    "TRUSTED_PROXIES": "the addresses of the Ingress controller, such as the network of the cluster's pods",
    "DATABASE_SERVER": f"{CLUSTER}-rw for the cluster in supabase/kubernetes, or servers of your own",
    "STORAGE_URL": "s3://bucket/prefix, with AWS_*",
    "SMTP_HOST": "your mail server",
    "IMAGE_REGISTRY": "where the cluster fetches images, such as registry.example.org/harborline",
}
NEEDED_BY_CLUSTER = {
    "DATABASE_NAME": OWNER,
    "DATABASE_OWNER": OWNER,
    "BACKUP_REPOSITORY": "s3://bucket/prefix, with BACKUP_S3_*, for its WAL and its backups",
}


def has_cluster(settings: Settings) -> bool:
    """Return whether the database is the cluster of supabase/kubernetes."""
    server = settings.options.get("DATABASE_SERVER")
    return bool(server) and options.servers(server or "") == [(f"{CLUSTER}-rw", options.DATABASE_PORT)]


def require_sensible(settings: Settings) -> None:
    """Raise in words where a setting lacks that Kubernetes needs, or has a value that is of no use there."""
    given, needed = settings.options, NEEDED | (NEEDED_BY_CLUSTER if has_cluster(settings) else {})
    if lacking := [f"    {name}: {what}" for name, what in needed.items() if name not in given]:
        raise Stop("\n".join(["For Kubernetes name these too, once:", *lacking]))
    url = urlsplit(settings.origin)
    if "SITE_DOMAIN" in given or url.scheme != "https" or url.port:
        raise Stop("In Kubernetes the Ingress has HTTPS: the site is SITE_URL=https://name, without a port.")
    if not given["STORAGE_URL"].startswith("s3://"):
        raise Stop("Several machines share no folder: STORAGE_URL is s3://bucket/prefix, with AWS_*.")
    if not REGISTRY.fullmatch(given["IMAGE_REGISTRY"]):
        raise Stop(
            f"IMAGE_REGISTRY={given['IMAGE_REGISTRY']} is no place such as registry.example.org/harborline."
        )
    if any(options.is_loopback(host.strip("[]")) for host, _ in options.servers(given["DATABASE_SERVER"])):
        raise Stop("DATABASE_SERVER is this machine: in Kubernetes that would be each container itself.")
    if has_cluster(settings):
        _require_sensible_cluster(settings)


def _require_sensible_cluster(settings: Settings) -> None:
    if {settings.options[name] for name in ("DATABASE_NAME", "DATABASE_OWNER")} != {OWNER}:
        raise Stop(
            "In the cluster of supabase/kubernetes the superuser is called postgres, and a database too.\n"
            f"  The product's are others: DATABASE_NAME={OWNER} DATABASE_OWNER={OWNER}"
        )
    store = repository.of(settings)
    if store and store.folder:
        raise Stop(
            "Several machines share no folder: BACKUP_REPOSITORY is s3://bucket/prefix, with BACKUP_S3_*."
        )
