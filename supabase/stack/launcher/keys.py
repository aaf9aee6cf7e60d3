"""The stack's keys and passwords: made once, changed by `keys new` and `keys retire`."""

import base64
import hashlib
import json
import math
import os
import secrets
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeyParameters, OctKey, RSAKey

from launcher import private_files
from launcher.settings import ADMIN_SESSION_SECONDS, DATABASE_ROLES, TOKEN_SECONDS, Settings
from launcher.terminal import Stop

MEMBERS = "members"
ADMINISTRATORS = "administrators"
# Signing keys by audience: the file, and how long a token is valid.
SIGNING = {MEMBERS: ("auth.json", TOKEN_SECONDS), ADMINISTRATORS: ("admin.json", ADMIN_SESSION_SECONDS)}
TEN_YEARS = 10 * 365 * 24 * 3600

Jwk = dict[str, Any]


class Keys:
    """The keys folder of a stack (0700; every file 0600)."""

    def __init__(self, settings: Settings) -> None:
        self.folder = settings.state / "keys"
        self.jwks = self.folder / "jwks.json"
        self.admin, self.secrets = self.folder / "admin.json", self.folder / "secrets.json"
        self._settings = settings
        # decision D23
        self._algorithm = "ES256" if settings.reference else "RS256"

    @cached_property
    def values(self) -> dict[str, str]:
        """Shared secrets, the two API keys and the passwords of the database's roles."""
        return dict(self._read("credentials.json"))

    @property
    def gotrue(self) -> str:
        """The auth service's private keys, as GOTRUE_JWT_KEYS wants them."""
        return json.dumps(self._read("gotrue.json"), separators=(",", ":"))

    @property
    def mail_path(self) -> str:
        """Where the mail catcher shows its mails: any website may ask it, but none knows the path."""
        return "/" + hashlib.sha256(f"mail {self.values['SIGNING_SECRET']}".encode()).hexdigest()[:32]

    def database_url(self, role: str, name: str = "", *, server: str = "") -> str:
        """Return the URL of a database role; `postgres` is the owner of the product's, whatever its name.

        Args:
            server: see Settings.database.
        """
        user = self._settings.database_owner if role == "postgres" else role
        place = self._settings.database(name, server=server)
        return f"postgresql://{user}:{self.values[f'PASSWORD_{role}']}@{place}"

    def make(self) -> None:
        """Make what is missing; what exists stays, so that sign-ins survive.

        Raises:
            Stop: this is another machine than the first, whose keys are not here.
        """
        if self._settings.machine > 1 and not (self.folder / "credentials.json").exists():
            raise Stop(
                f"All machines have the keys of the first. Copy its folder of keys to\n  {self.folder}"
            )
        private_files.make_folder(self.folder)
        auth = self._made("auth.json", lambda: new_key(self._algorithm))
        admin = self._made("admin.json", lambda: new_key("RS256"))
        shared = self._made("credentials.json", new_credentials)
        if (made := new_credentials()).keys() - shared.keys():
            # An earlier version made them, with fewer; they may have been read meanwhile.
            self._write("credentials.json", made | shared)
            self.__dict__.pop("values", None)
        active, secret = secrets.token_hex(4), base64.b64encode(secrets.token_bytes(32)).decode()
        self._made("secrets.json", lambda: {"active": active, "keys": {active: secret}})
        encoded = base64.urlsafe_b64encode(shared["JWT_SECRET"].encode()).decode().rstrip("=")
        legacy = {"kty": "oct", "k": encoded, "kid": shared["LEGACY_KEY_ID"], "alg": "HS256", "use": "sig"}
        # PostgREST tries the keys in turn: the one that signs most tokens comes first.
        self._made("jwks.json", lambda: {"keys": [public_part(auth), public_part(admin), legacy]})
        own = [with_operations(auth, "sign", "verify"), with_operations(legacy, "verify")]
        self._made("gotrue.json", lambda: own)

    def _made(self, name: str, make: Callable[[], Any]) -> Any:
        if not (self.folder / name).exists():
            self._write(name, make())
        return self._read(name)

    def publish(self, whose: str) -> Jwk:
        """Make a new key that verifies and does not sign yet, so that all instances learn of it first."""
        file, published, place = SIGNING[whose][0], self._read("jwks.json")["keys"], 0
        new = new_key(self._algorithm if whose == MEMBERS else "RS256")
        if whose == ADMINISTRATORS:
            signing = self._read(file)
            verifying = [new["kid"], *signing.get("former", [])]
            known = {signing["kid"], *verifying}
            place = next(number for number, key in enumerate(published) if key["kid"] in known)
            self._rewrite(file, {**signing, "former": verifying})
        else:
            own = self._read("gotrue.json")
            self._write("gotrue.json", [*own, with_operations(public_part(new), "verify")])
        self._write("jwks.json", {"keys": [*published[:place], public_part(new), *published[place:]]})
        return new

    def sign_with(self, whose: str, new: Jwk) -> None:
        """Let a published key sign tokens; those of the former ones are good until they expire.

        Of members' former keys the public parts stay; the new key of administrators names the former ones,
        which sign no other tokens.
        """
        file = SIGNING[whose][0]
        if whose == ADMINISTRATORS:
            signing = self._read(file)
            others = [kid for kid in signing.get("former", []) if kid != new["kid"]]
            new = {**new, "former": [signing["kid"], *others]}
        else:
            known = [key for key in self._read("gotrue.json") if key["kid"] != new["kid"]]
            former = [
                with_operations(public_part(key), "verify") for key in known if "sign" in key["key_ops"]
            ]
            verifying = [key for key in known if "sign" not in key["key_ops"]]
            self._write("gotrue.json", [with_operations(new, "sign", "verify"), *former, *verifying])
        self._write(file, new)

    def retire(self, whose: str, *, now: bool) -> None:
        """Trust no former key any more."""
        file, seconds = SIGNING[whose]
        left = (self.folder / file).stat().st_mtime + seconds - time.time()
        if left > 0 and not now:
            option = " --administrators" if whose == ADMINISTRATORS else ""
            raise Stop(
                f"Tokens of the former key are good for another {math.ceil(left / 60)} minutes. Run it again "
                f"then,\n  or now if that key has leaked: python3 supabase/stack keys retire{option} --now"
            )
        signing, own = self._read(file), self._read("gotrue.json")
        if whose == MEMBERS:
            former = {key["kid"] for key in own} - {signing["kid"], self.values["LEGACY_KEY_ID"]}
        else:
            former = set(signing.pop("former", []))
        published = self._read("jwks.json")["keys"]
        self._write("jwks.json", {"keys": [key for key in published if key["kid"] not in former]})
        self._write("gotrue.json", [key for key in own if key["kid"] not in former])
        if whose == ADMINISTRATORS:
            self._write(file, signing)

    def _read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    def _rewrite(self, name: str, document: Any) -> None:
        """Change a file whose age says since when its key signs."""
        path = self.folder / name
        since = path.stat()
        self._write(name, document)
        os.utime(path, (since.st_atime, since.st_mtime))

    def _write(self, name: str, document: Any) -> None:
        private_files.write(self.folder / name, json.dumps(document, indent=2))


def new_key(algorithm: str) -> Jwk:
    """Return a fresh signing key as a private JWK."""
    options: KeyParameters = {"use": "sig", "alg": algorithm, "kid": secrets.token_hex(8)}
    key = RSAKey.generate_key(2048, options) if algorithm == "RS256" else ECKey.generate_key("P-256", options)
    return dict(key.as_dict(private=True))


def public_part(key: Jwk) -> Jwk:
    """Return the same key without what signs."""
    kind = RSAKey if key["kty"] == "RSA" else ECKey
    plain = {name: value for name, value in key.items() if name not in ("key_ops", "former")}
    return {**kind.import_key(plain).as_dict(private=False), "use": "sig"}


def with_operations(key: Jwk, *operations: str) -> Jwk:
    """Return a key as GOTRUE_JWT_KEYS names it: with its operations instead of `use`."""
    return {name: value for name, value in key.items() if name != "use"} | {"key_ops": list(operations)}


def new_credentials() -> dict[str, str]:
    """Return fresh shared secrets, passwords of the database's roles, and Supabase's two legacy API keys."""
    secret, now = secrets.token_hex(32), int(time.time())

    def api_key(role: str) -> str:
        claims = {"iss": "supabase", "role": role, "iat": now, "exp": now + TEN_YEARS}
        return jwt.encode({"alg": "HS256", "typ": "JWT"}, claims, OctKey.import_key(secret))

    return {
        "JWT_SECRET": secret,
        "SIGNING_SECRET": secrets.token_hex(32),
        "SUPABASE_ANON_KEY": api_key("anon"),
        "SUPABASE_SERVICE_ROLE_KEY": api_key("service_role"),
        "LEGACY_KEY_ID": secrets.token_hex(8),
        "ALARM_WEBHOOK_KEY": secrets.token_hex(32),
        "PASSWORD_monitoring": secrets.token_hex(24),
        **{f"PASSWORD_{role}": secrets.token_hex(24) for role in DATABASE_ROLES},
    }
