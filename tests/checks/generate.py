"""`make generate`: writes the files that are made from others."""

from launcher.settings import ROOT, SETUP_LOG
from launcher.terminal import ending_in_words
from tests.checks import built_in_platform, email_templates, row_types
from tests.support import throwaway


def main() -> int:
    """Write the web's row types and built-in platform, and the auth service's e-mail templates."""
    # The web's files are formatted by its own formatter.
    throwaway.install_for_tests(SETUP_LOG)
    with throwaway.database() as database:
        row_types.FILE.write_text(row_types.generate(database))
        built_in_platform.FILE.write_text(built_in_platform.generate(database))
    email_templates.write()
    for written in (row_types.FILE, built_in_platform.FILE, email_templates.FOLDER):
        print(f"  wrote {written.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    ending_in_words(main)
