"""What `make invoke` and `make sam-local` do without a Docker engine, or with one that cannot reach the registry."""

import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import docker
import invoke
from stage import ROOT


@contextlib.contextmanager
def engine():
    """A Docker engine without images that waits for the registry, and waits."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if "/distribution/" in self.path:
                ended.wait()
                return
            body = json.dumps({"message": "no such image"}).encode()
            self.send_response(404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield docker.DockerClient(base_url=f"tcp://127.0.0.1:{server.server_port}", version="1.44", timeout=0.2)
        ended.set()
        server.shutdown()


class PullOptions(unittest.TestCase):
    def test_an_engine_that_does_not_answer_in_time_has_no_image(self):
        said = io.StringIO()
        with engine() as client, contextlib.closing(client), contextlib.redirect_stderr(said):
            self.assertIsNone(invoke.pull_options(client))
        self.assertIn("cannot be pulled: ", said.getvalue())
        self.assertIn("timed out", said.getvalue())


class SamLocal(unittest.TestCase):
    def test_without_an_engine_it_skips_unless_it_is_required(self):
        # Nor is there a program that could start or install one.
        nothing = {"DOCKER_HOST": "unix:///nowhere/docker.sock", "PATH": "/nowhere"}
        for given, code, said in [({}, 0, "skipped: "), ({"SAM_LOCAL": "required"}, 1, "failed, because SAM_LOCAL=required: ")]:
            environment = {name: value for name, value in os.environ.items() if name != "SAM_LOCAL"} | nothing | given
            command = [sys.executable, ROOT / "tests/sam-local/check.py"]
            ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            self.assertEqual(ran.returncode, code, ran.stderr)
            self.assertIn(f"{said}no Docker engine answers", ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
