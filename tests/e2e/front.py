"""What stands before a service of AWS and ends TLS: hands requests on, and says in a header that they came over TLS.

The queues' policies refuse all others, and our commands cannot set a header. `front.py URL FILE` writes its own URL to FILE when it
listens, and hands on to the emulator at URL.
"""

import http.client
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

emulator_url, url_file = sys.argv[1:]
emulator = urllib.parse.urlsplit(emulator_url).netloc


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(emulator)
        # The host stays what the client signed.
        headers = dict(self.headers) | {"X-Forwarded-Proto": "https", "Connection": "close"}
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        content = response.read()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ["content-length", "transfer-encoding", "connection", "date", "server"]:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_request


server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
Path(url_file).write_text(f"http://127.0.0.1:{server.server_port}")
server.serve_forever()
