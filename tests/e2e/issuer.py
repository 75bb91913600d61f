"""An issuer of tokens on loopback: an OpenID provider with a code flow for public clients (PKCE), as small as one can be.

`issuer.py KEY.pem KEY_ID FILE REDIRECTS` writes its URL to FILE when it listens. REDIRECTS has the addresses that it may send a browser to, one a
line; it is read at each request, because the page's address is known only after the deployment. The client is `E2E_CLIENT_ID`, its tokens are for
`E2E_AUDIENCE`.

Whoever signs in chooses who they are: there are no passwords here. Everything else is checked as RFC 6749, RFC 7636 and OpenID Connect say.
"""

import base64
import hashlib
import html
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

key_file, key_id, url_file, redirects_file = sys.argv[1:]
client_id, audience = os.environ["E2E_CLIENT_ID"], os.environ["E2E_AUDIENCE"]

# Which of the scopes that are asked for somebody may have. All may have "openid".
USERS = {
    "consumer-ada": ("Ada, a consumer", []),
    "consumer-bob": ("Bob, another consumer", []),
    "support": ("Sam, of the support desk", ["orders:read-any", "payments:write-any"]),
}

lock = threading.Lock()
codes, refresh_tokens = {}, {}


class Refused(Exception):
    """An error of the protocol, by its code."""


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def sign(claims):
    header = {"alg": "RS256", "typ": "JWT", "kid": key_id}
    signed = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    command = ["openssl", "dgst", "-sha256", "-sign", key_file]
    return f"{signed}.{base64url(subprocess.run(command, input=signed.encode(), stdout=subprocess.PIPE, check=True).stdout)}"


def may_redirect_to(address):
    return address in Path(redirects_file).read_text().split()


def tokens(grant, with_nonce):
    """The response of the token endpoint. Only the ID token of a sign-in has its nonce."""
    now = int(time.time())
    allowed = ["openid", *USERS[grant["user"]][1]]
    scope = " ".join(scope for scope in grant["scope"].split() if scope in allowed)
    common = {"iss": url, "sub": grant["user"], "iat": now, "exp": now + grant["lifetime"]}
    id_token = common | {"aud": client_id, "name": USERS[grant["user"]][0]}
    if with_nonce and "nonce" in grant:
        id_token["nonce"] = grant["nonce"]
    response = {
        "access_token": sign(common | {"aud": audience, "client_id": client_id, "scope": scope, "jti": secrets.token_hex(8)}),
        "id_token": sign(id_token),
        "token_type": "Bearer",
        "expires_in": grant["lifetime"],
        "scope": scope,
    }
    if grant["refresh"]:
        response["refresh_token"] = secrets.token_urlsafe()
        with lock:
            refresh_tokens[response["refresh_token"]] = grant
    return response


def by_code(form):
    with lock:
        # Taken whatever comes of it: a code is good for one try.
        grant = codes.pop(form.get("code"), None)
    if grant is None or grant["redirect_uri"] != form.get("redirect_uri"):
        raise Refused("invalid_grant")
    verifier = form.get("code_verifier", "")
    if base64url(hashlib.sha256(verifier.encode()).digest()) != grant["code_challenge"]:
        raise Refused("invalid_grant")
    return tokens(grant, with_nonce=True)


def by_refresh_token(form):
    with lock:
        # Each is good for once; the response has the next.
        grant = refresh_tokens.pop(form.get("refresh_token"), None)
    if grant is None:
        raise Refused("invalid_grant")
    return tokens(grant, with_nonce=False)


GRANTS = {"authorization_code": by_code, "refresh_token": by_refresh_token}


def sign_in_page(asked):
    """The form that asks who it is. It carries what the client asked for."""
    hidden = "".join(
        f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">' for name, value in asked.items()
    )
    users = "".join(
        f'<p><button name="user" value="{user}">{html.escape(name)}</button></p>' for user, (name, _) in USERS.items()
    )
    return f"""<!doctype html>
<html lang="en"><title>Who are you?</title><h1>Who are you?</h1>
<form method="post" action="/authorize">{hidden}
<p><label>The token is good for <input name="lifetime" type="number" value="600"> seconds</label></p>
<p><label><input name="refresh" type="checkbox"> and can be refreshed</label></p>
{users}
<p><button name="user" value="">Deny</button></p>
</form></html>"""


class Issuer(BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urlsplit(self.path)
        asked = self.fields(parts.query)
        if parts.path in documents:
            self.answer(200, documents[parts.path])
        elif parts.path == "/authorize":
            self.authorize(asked)
        elif parts.path == "/logout":
            self.log_out(asked)
        else:
            self.answer(404, {"error": "not_found"})

    def do_POST(self):
        form = self.fields(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        if self.path == "/authorize":
            self.decide(form)
        elif self.path == "/token":
            self.token(form)
        elif self.path == "/revoke":
            self.revoke(form)
        else:
            self.answer(404, {"error": "not_found"})

    def do_OPTIONS(self):
        self.answer(204)

    def authorize(self, asked):
        # Not told to the client: who knows whose address that is.
        if asked.get("client_id") != client_id or not may_redirect_to(asked.get("redirect_uri")):
            self.answer(400, {"error": "unknown client_id or redirect_uri", "redirect_uri": asked.get("redirect_uri")})
        elif asked.get("response_type") != "code":
            self.back(asked, error="unsupported_response_type")
        elif not asked.get("code_challenge") or asked.get("code_challenge_method") != "S256":
            self.back(asked, error="invalid_request", error_description="PKCE with S256 is needed")
        elif "openid" not in asked.get("scope", "").split():
            self.back(asked, error="invalid_scope")
        else:
            self.answer(200, sign_in_page(asked), "text/html; charset=utf-8")

    def decide(self, form):
        if form.get("client_id") != client_id or not may_redirect_to(form.get("redirect_uri")):
            self.answer(400, {"error": "unknown client_id or redirect_uri"})
        elif form.get("user") not in USERS:
            self.back(form, error="access_denied", error_description="The user has denied the request.")
        else:
            code = secrets.token_urlsafe()
            with lock:
                codes[code] = form | {"lifetime": int(form["lifetime"]), "refresh": "refresh" in form}
            self.back(form, code=code)

    def back(self, asked, **parameters):
        if "state" in asked:
            parameters["state"] = asked["state"]
        self.redirect(f"{asked['redirect_uri']}?{urlencode(parameters | {'iss': url})}")

    def token(self, form):
        try:
            if form.get("client_id") != client_id:
                raise Refused("invalid_client")
            grant = GRANTS.get(form.get("grant_type"))
            if grant is None:
                raise Refused("unsupported_grant_type")
            self.answer(200, grant(form))
        except Refused as refused:
            self.answer(400, {"error": str(refused)})

    def revoke(self, form):
        with lock:
            refresh_tokens.pop(form.get("token"), None)
        self.answer(200, {})

    def log_out(self, asked):
        address = asked.get("post_logout_redirect_uri")
        if asked.get("client_id") not in (None, client_id) or not asked.get("id_token_hint") or not may_redirect_to(address):
            self.answer(400, {"error": "invalid_request", "post_logout_redirect_uri": address})
            return
        state = {"state": asked["state"]} if "state" in asked else {}
        self.redirect(f"{address}?{urlencode(state)}" if state else address)

    def fields(self, encoded):
        return {name: values[0] for name, values in parse_qs(encoded).items()}

    def redirect(self, address):
        self.send_response(303)
        self.send_header("Location", address)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status, content=None, content_type="application/json"):
        body = content.encode() if isinstance(content, str) else b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        # What the page's script reads. The form is not for scripts, and reading it would give nothing away.
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "Content-Type")
        self.end_headers()
        self.wfile.write(body)


modulus = subprocess.check_output(["openssl", "rsa", "-in", key_file, "-noout", "-modulus"], text=True)
server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
url = f"http://127.0.0.1:{server.server_port}"
documents = {
    "/.well-known/openid-configuration": {
        "issuer": url,
        "jwks_uri": f"{url}/.well-known/jwks.json",
        "authorization_endpoint": f"{url}/authorize",
        "token_endpoint": f"{url}/token",
        "revocation_endpoint": f"{url}/revoke",
        "end_session_endpoint": f"{url}/logout",
        "response_types_supported": ["code"],
        "grant_types_supported": list(GRANTS),
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
        "scopes_supported": ["openid", "orders:read-any", "payments:write-any"],
    },
    "/.well-known/jwks.json": {
        "keys": [
            {
                "kty": "RSA",
                "alg": "RS256",
                "use": "sig",
                "kid": key_id,
                "n": number(int(modulus.strip().removeprefix("Modulus="), 16)),
                # openssl's own exponent unless told otherwise.
                "e": number(65537),
            }
        ]
    },
}
Path(url_file).write_text(url)
server.serve_forever()
