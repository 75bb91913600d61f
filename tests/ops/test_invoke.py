"""`make invoke` and `make sam-local` without a Docker engine, or with one that cannot reach the registry."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import docker
import invoke
from stage import ORDER_HISTORY, PAYMENTS, ROOT


@contextlib.contextmanager
def engine():
    """A Docker engine without images that waits forever for the registry."""
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
    def test_an_engine_that_does_not_answer_in_time_counts_as_without_image(self):
        said = io.StringIO()
        with engine() as client, contextlib.closing(client), contextlib.redirect_stderr(said):
            self.assertIsNone(invoke.pull_options(client))
        self.assertIn("cannot be pulled: ", said.getvalue())
        self.assertIn("timed out", said.getvalue())


class OfPayments(unittest.TestCase):
    def test_sam_runs_the_function_with_its_section_of_samconfig_and_all_endpoints(self):
        endpoints = {name: f"http://host:{n}" for n, name in enumerate([*invoke.PORTS, "SECRETS_MANAGER_PORT"])}
        arguments = [str(a) for a in invoke.sam_local(PAYMENTS, "invoke", "f", endpoints=endpoints, options=[])]
        self.assertEqual(arguments[arguments.index("--config-env") + 1], "payments")
        given = dict(a.split("=", 1) for a in arguments[arguments.index("--parameter-overrides") + 1 :])
        # Payments does not use S3.
        self.assertLessEqual(set(endpoints.values()) - {endpoints["S3_PORT"]}, set(given.values()))
        self.assertEqual(set(), set(given) - set(PAYMENTS.parameters))
        self.assertRegex(given["GatewayUrl"], r"^http://host")

    def test_the_archiver_uses_the_archive_of_the_running_system(self):
        endpoints = {name: f"http://host:{n}" for n, name in enumerate(invoke.PORTS)}
        arguments = [str(a) for a in invoke.sam_local(ORDER_HISTORY, "invoke", "f", endpoints=endpoints, options=[])]
        given = dict(a.split("=", 1) for a in arguments[arguments.index("--parameter-overrides") + 1 :])
        self.assertEqual(endpoints["S3_PORT"], given["S3Endpoint"])
        self.assertEqual(set(), set(given) - set(ORDER_HISTORY.parameters))

    def test_the_stand_in_for_secrets_manager_has_the_gateways_secret(self):
        with invoke.secrets_manager() as port:
            keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
            client = boto3.client("secretsmanager", endpoint_url=f"http://127.0.0.1:{port}", **keys)
            self.assertEqual(client.get_secret_value(SecretId=invoke.SECRET_ARN)["SecretString"], "local")

    def test_a_sample_can_be_changed_to_another_intent(self):
        samples = sorted((ROOT / "events/payments").glob("*.json"))
        about = [path for path in samples if invoke.SAMPLE_INTENT in path.read_text()]
        self.assertGreaterEqual(len(about), 6)
        with tempfile.TemporaryDirectory() as folder:
            for path in about:
                file = invoke.about_intent(path, "00000000-0000-4000-8000-000000000000", Path(folder, "event.json"))
                self.assertNotIn(invoke.SAMPLE_INTENT, file.read_text())
                json.loads(file.read_text())


class SamLocal(unittest.TestCase):
    def test_without_an_engine_sam_local_is_skipped(self):
        # There is also no program that could start or install one.
        nothing = {"DOCKER_HOST": "unix:///nowhere/docker.sock", "PATH": "/nowhere"}
        command = [sys.executable, ROOT / "tests/sam-local/check.py"]
        ran = subprocess.run(command, cwd=ROOT, env=os.environ | nothing, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        # ops/check.py reads such a line.
        self.assertRegex(ran.stdout, "(?m)^skipped: no Docker engine answers")


if __name__ == "__main__":
    unittest.main()
