"""The systemd unit of a stack: it starts with the machine, and is stopped in order."""

import getpass
import os
from string import Template

from launcher.host import environment
from launcher.host.tools import PYTHON
from launcher.settings import FILES, ROOT, Settings
from launcher.terminal import Stop


def text(settings: Settings) -> str:
    """Return the unit, for the user who asks for it: root's drops its rights by itself."""
    places = {"root": str(ROOT), "state": str(settings.state), "run": str(settings.state / "run")}
    if strange := next((place for place in places.values() if set(place) & set('"\\\n')), None):
        raise Stop(f"systemd takes no folder with quotes or backslashes: {strange}")
    certificates = os.environ.get("SSL_CERT_FILE")
    return Template((FILES / "harborline.service").read_text()).substitute(
        # A percent sign is systemd's own.
        {name: place.replace("%", "%%") for name, place in places.items()},
        user=getpass.getuser(),
        # Not the environment's, which the first start makes.
        python=PYTHON.resolve(),
        path=environment.base()["PATH"],
        certificates=f'Environment="SSL_CERT_FILE={certificates}"\n' if certificates else "",
    )
