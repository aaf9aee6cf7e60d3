"""`python3 supabase/stack run tests cluster`: the cluster of the drills, to look at and to break."""

import signal

from launcher.settings import ROOT
from launcher.terminal import ending_in_words
from tests.cluster.site import running


def show() -> int:
    """Run it until Ctrl-C, and print where everything is."""
    with running(ROOT / ".stack") as site:
        print(site.stack.launch("status").stdout)
        folder, nodes = site.cluster.folder, site.cluster.nodes
        for node in nodes:
            print(f"  {node.name:10} PostgreSQL at port {node.port}, its log {folder / node.name}.log")
        print(f"  Look at it: patronictl -c {nodes[0].folder / 'patroni.yml'} list")
        print("  End it: Ctrl-C")
        signal.pause()
    return 0


if __name__ == "__main__":
    ending_in_words(show)
