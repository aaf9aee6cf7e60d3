"""Builds the web app when its sources changed."""

import shutil
from pathlib import Path

from launcher.services import content_digest
from launcher.settings import ROOT
from launcher.terminal import run, step
from launcher.tools import node_packages, one_at_a_time

WEB = ROOT / "web"
IGNORED = {"node_modules", "dist", ".vite", "coverage"}


def build(log: Path) -> None:
    """Install the packages and run `npm run build`, unless web/dist is what the sources make."""
    with one_at_a_time():
        node_packages(WEB, "Packages of web", log)
        stamp = WEB / "node_modules" / ".build-digest"
        digest = content_digest("", *sorted(path for path in WEB.iterdir() if path.name not in IGNORED))
        if (WEB / "dist" / "index.html").exists() and stamp.exists() and stamp.read_text() == digest:
            return
        with step("Web app: build"):
            # Beside what is served now, which a failed build must not take away.
            draft, served = WEB / "node_modules" / ".build", WEB / "dist"
            run(["npm", "run", "build", "--", "--emptyOutDir", f"--outDir={draft}"], log, cwd=WEB)
            shutil.rmtree(served, ignore_errors=True)
            draft.rename(served)
            stamp.write_text(digest)
