"""Builds the web app when its sources changed."""

import hashlib
import os
import shutil
from pathlib import Path

from settings import ROOT
from terminal import run, step
from tools import node_packages, one_at_a_time

WEB = ROOT / "web"
IGNORED = {"node_modules", "dist", ".vite", "coverage"}


def build(log: Path) -> None:
    """The packages and `npm run build`, unless web/dist is what the sources make."""
    with one_at_a_time():
        node_packages(WEB, "Web app: packages", log)
        stamp, digest = WEB / "node_modules" / ".build-digest", _digest()
        if (WEB / "dist" / "index.html").exists() and stamp.exists() and stamp.read_text() == digest:
            return
        with step("Web app: build"):
            # Beside what is served now, which a failed build must not take away.
            draft, served = WEB / "node_modules" / ".build", WEB / "dist"
            run(["npm", "run", "build", "--", "--emptyOutDir", f"--outDir={draft}"], log, cwd=WEB)
            shutil.rmtree(served, ignore_errors=True)
            draft.rename(served)
            stamp.write_text(digest)


def _digest() -> str:
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(WEB):
        folders[:] = sorted(set(folders) - IGNORED)
        for path in (Path(folder, name) for name in sorted(files)):
            digest.update(str(path.relative_to(WEB)).encode() + path.read_bytes())
    return digest.hexdigest()
