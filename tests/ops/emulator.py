"""Starts MiniStack, an emulator of AWS, for one test."""

import contextlib
import os
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import boto3
from free_port import free_port

ROOT = Path(__file__).resolve().parents[2]


class Emulator:
    def __init__(self, url):
        self.environment = {"AWS_ENDPOINT_URL": url}

    def client(self, service):
        return boto3.client(service, endpoint_url=self.environment["AWS_ENDPOINT_URL"])


@contextlib.contextmanager
def emulator():
    port = str(free_port())
    with tempfile.TemporaryDirectory() as data, Path(data, "log").open("w") as log:
        settings = {
            "GATEWAY_PORT": port,
            "BIND_HOST": "127.0.0.1",
            "TMPDIR": data,
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
        }
        program = ROOT / "target/venv/ministack/bin/ministack"
        running = subprocess.Popen([program], env=os.environ | settings, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            await_health(running, f"{url}/health")
            yield Emulator(url)
        finally:
            running.terminate()
            running.wait()


def await_health(running, url):
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(url):
            return
        if running.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError("MiniStack did not start")
