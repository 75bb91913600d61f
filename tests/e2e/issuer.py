"""An issuer of tokens: serves its OpenID configuration and its one public key on loopback.

`issuer.py KEY.pem KEY_ID FILE` writes its URL to FILE when it listens.
"""

import base64
import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

key_file, key_id, url_file = sys.argv[1:]


def base64url(number):
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = documents.get(self.path)
        body = json.dumps(answer).encode()
        self.send_response(200 if answer else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


modulus = subprocess.check_output(["openssl", "rsa", "-in", key_file, "-noout", "-modulus"], text=True)
server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
url = f"http://127.0.0.1:{server.server_port}"
documents = {
    "/.well-known/openid-configuration": {"issuer": url, "jwks_uri": f"{url}/.well-known/jwks.json"},
    "/.well-known/jwks.json": {
        "keys": [
            {
                "kty": "RSA",
                "alg": "RS256",
                "use": "sig",
                "kid": key_id,
                "n": base64url(int(modulus.strip().removeprefix("Modulus="), 16)),
                # openssl's own exponent unless told otherwise.
                "e": base64url(65537),
            }
        ]
    },
}
Path(url_file).write_text(url)
server.serve_forever()
