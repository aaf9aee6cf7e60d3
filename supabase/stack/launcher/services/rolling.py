"""Replacing the instances of the services one after the other, so that no client meets one that ends."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from launcher import private_files
from launcher.host import system_user
from launcher.keys import Keys
from launcher.services import health, processes
from launcher.services.processes import Service
from launcher.services.supervisor import Supervisor
from launcher.settings import PASSED_ON, Settings, numbered

# The gateway looks twice a second and believes what it saw twice, and may take a second to hear.
NOTICED_SECONDS = 2.5
# A statement ends after 8 s. PostgREST drops what it is at when it is stopped; the others end it first.
STATEMENT_SECONDS = 8.0


def update(settings: Settings, keys: Keys, supervisor: Supervisor, listed: list[Service]) -> None:
    """Start what does not run and replace what has changed, one instance after the other."""
    changed = supervisor.outdated()
    for number in range(1, settings.instances + 1):
        own = [service for service in listed if service.instance == number]
        names = [service.name for service in own]
        if changed.isdisjoint(names):
            supervisor.run_services(own)
            continue
        with _spared(settings, number):
            supervisor.run_services(own)
            health.wait(settings, keys, names=names)
    supervisor.run_services([service for service in listed if not service.instance])


def restart(settings: Settings, keys: Keys, supervisor: Supervisor, named: str) -> None:
    """Restart one process, or all instances of a service one after the other."""
    instances = {service.name: service.instance for service in processes.describe(settings, keys)}
    last = settings.instances if instances.get(named) == 1 else 1
    for name in (numbered(named, number) for number in range(1, last + 1)):
        with _spared(settings, instances.get(name, 0)):
            supervisor.restart(name)
            health.wait(settings, keys, names=[name])


@contextmanager
def _spared(settings: Settings, number: int) -> Iterator[None]:
    """Let the gateway pass nothing new to the instances of a number, and what they are at come to its end."""
    if settings.instances == 1 or not number:
        yield
        return
    marks = [settings.replaced / settings.address(name, number) for name in PASSED_ON]
    for mark in marks:
        private_files.write(mark, "")
    system_user.hand_over(settings.replaced)
    try:
        time.sleep(NOTICED_SECONDS + STATEMENT_SECONDS)
        yield
    finally:
        for mark in marks:
            mark.unlink(missing_ok=True)
        # So that the next ones are not spared before these are used again.
        time.sleep(NOTICED_SECONDS)
