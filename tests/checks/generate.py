"""`make generate`: writes the files that are made from others."""

from launcher.settings import ROOT, SETUP_LOG
from launcher.terminal import ending_in_words
from tests.checks import email_templates, row_types
from tests.support import throwaway


def main() -> int:
    """Write the web's row types and the auth service's e-mail templates."""
    # Row types are formatted by the web's own formatter.
    throwaway.install_for_tests(SETUP_LOG)
    with throwaway.database() as database:
        row_types.FILE.write_text(row_types.generate(database))
    email_templates.write()
    for written in (row_types.FILE, email_templates.FOLDER):
        print(f"  wrote {written.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    ending_in_words(main)
