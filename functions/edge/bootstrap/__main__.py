"""`python -m functions.edge.bootstrap <command>`: first people, an administrator locked out, the demo.

Results are KEY=value lines on standard output; everything else goes to standard error.
"""

import argparse
import sys
from typing import Any, get_args

import psycopg
from psycopg.rows import dict_row
from supabase import AuthApiError

from functions.core.errors import Meaning, meaning_of, raised_by
from functions.edge.bootstrap import administrators, demo
from functions.edge.bootstrap.accounts import Accounts
from functions.edge.bootstrap.settings import BootstrapSettings
from functions.edge.support import passwords

Database = psycopg.Connection[dict[str, Any]]


def main() -> int:
    """Run one command; return 0 when it did what it says, 1 after printing why it could not."""
    arguments = _parser().parse_args()
    settings = BootstrapSettings()
    with psycopg.connect(settings.database_url, row_factory=dict_row, autocommit=True) as database:
        try:
            lines = arguments.run(arguments, database, settings)
        except (administrators.AlreadyExistsError, AuthApiError, psycopg.Error) as error:
            sys.stderr.write(f"{_reason(error)}\n")
            return 1
    for key, value in lines.items():
        sys.stdout.write(f"{key}={value}\n")
    return 0


def first_administrator(
    arguments: argparse.Namespace, database: Database, _: BootstrapSettings
) -> dict[str, str]:
    """Make the first super administrator."""
    password = administrators.make_first(database, arguments.email, arguments.name)
    return {"ADMIN_EMAIL": arguments.email, "ADMIN_PASSWORD": password}


def further_administrator(
    arguments: argparse.Namespace, database: Database, _: BootstrapSettings
) -> dict[str, str]:
    """Make a further administrator, who can confirm what others propose; all are mailed."""
    password = administrators.make_further(database, arguments.email, arguments.name, arguments.role)
    return {"ADMIN_EMAIL": arguments.email, "ADMIN_PASSWORD": password}


def recover_administrator(
    arguments: argparse.Namespace, database: Database, _: BootstrapSettings
) -> dict[str, str]:
    """Let an administrator in again who lost second factor or email, or whose account is gone."""
    password = administrators.recover(database, arguments.email, arguments.new_email, arguments.reason)
    return {"ADMIN_EMAIL": arguments.new_email or arguments.email, "ADMIN_PASSWORD": password}


def root_member(
    arguments: argparse.Namespace, database: Database, settings: BootstrapSettings
) -> dict[str, str]:
    """Make a member without a sponsor; the profile id is the first referral code."""
    password = passwords.generate_password()
    metadata = {"username": arguments.username, "display_name": arguments.name}
    accounts = Accounts(settings)
    user_id = accounts.put(arguments.email, password, metadata)
    try:
        profile = database.execute(
            "select private.create_root_member(%s, %s, %s) as id",
            [user_id, arguments.username, arguments.name],
        ).fetchone()
    except psycopg.Error:
        # Without a profile the sign-in would only be in the way of the next try.
        accounts.remove(user_id)
        raise
    return {
        "MEMBER_EMAIL": arguments.email,
        "MEMBER_PASSWORD": password,
        "REFERRAL_CODE": str(profile["id"] if profile else ""),
    }


def seed_demo(_: argparse.Namespace, database: Database, settings: BootstrapSettings) -> dict[str, str]:
    """Seed the demo network with its sign-ins; runs again after an interruption."""
    return demo.seed(database, settings)


def _reason(error: Exception) -> str:
    """Return what went wrong in the words of the SQL that raised it, if it did."""
    if isinstance(error, psycopg.Error) and meaning_of(error) is Meaning.RAISED:
        return raised_by(error).message
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m functions.edge.bootstrap", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    first = commands.add_parser("first-administrator", help=first_administrator.__doc__)
    first.add_argument("--email", required=True)
    first.add_argument("--name", required=True)
    first.set_defaults(run=first_administrator)
    further = commands.add_parser("administrator", help=further_administrator.__doc__)
    further.add_argument("--email", required=True)
    further.add_argument("--name", required=True)
    further.add_argument("--role", required=True, choices=get_args(administrators.Role))
    further.set_defaults(run=further_administrator)
    recovered = commands.add_parser("recover-administrator", help=recover_administrator.__doc__)
    recovered.add_argument("--email", required=True)
    recovered.add_argument("--reason", required=True, help="What was lost, and how you know who asks")
    recovered.add_argument("--new-email", default="", help="Instead of a mail address that was lost")
    recovered.set_defaults(run=recover_administrator)
    root = commands.add_parser("root-member", help=root_member.__doc__)
    root.add_argument("--email", required=True)
    root.add_argument("--username", required=True)
    root.add_argument("--name", required=True)
    root.set_defaults(run=root_member)
    seeded = commands.add_parser("demo", help=seed_demo.__doc__)
    seeded.set_defaults(run=seed_demo)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
