"""`make generate`: writes the files that are made from others."""

from launcher.settings import ROOT, SETUP_LOG
from launcher.terminal import ending_in_words
from tests.checks import (
    anonymous_functions,
    api_reference,
    built_in_platform,
    email_templates,
    row_types,
    schema_picture,
)
from tests.support import throwaway

# Each has a FILE, `generate` and `failure`.
FROM_DATABASE = (row_types, built_in_platform, api_reference, schema_picture, anonymous_functions)


def main() -> int:
    """Write what the web and docs have of the database, and the e-mail templates."""
    # The web's files are formatted by its own formatter.
    throwaway.install_for_tests(SETUP_LOG)
    with throwaway.database() as database:
        for written in FROM_DATABASE:
            written.FILE.write_text(written.generate(database))
    email_templates.write()
    for path in (*(written.FILE for written in FROM_DATABASE), email_templates.FOLDER):
        print(f"  wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    ending_in_words(main)
