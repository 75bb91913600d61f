"""`make invoke`: runs the function $FN once, on the event in the file $EVENT. The answer is on standard output, the log on
standard error.

Where a Docker engine answers, `sam local invoke` runs it in AWS's own image; elsewhere the Runtime API host of `make run` does.
Either way it works on the tables of a running `make run`, or on those that the last one left.
"""

import contextlib
import os
import platform
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

from stage import EVENT_TYPES, ROOT, Local, chosen_function


def main():
    name = chosen_function([*EVENT_TYPES, "query-api"])
    event = os.environ.get("EVENT", "")
    if not Path(event).is_file():
        sys.exit(f"EVENT={event}: say which file, such as EVENT=events/OrderCreated.json")
    subprocess.run(["cargo", "build", "-p", "local", "-p", "event-handlers", "-p", "query-api"], cwd=ROOT, check=True)
    if not docker("version", "--format", "{{.Server.Version}}"):
        os.execv(ROOT / "target/debug/local", ["local", "invoke", name, event])
    architecture = {"x86_64": "x86_64", "AMD64": "x86_64"}.get(platform.machine(), "arm64")
    subprocess.run([ROOT / "ops/build", architecture], stdout=sys.stderr, check=True)
    with dynamodb() as port, reachable_from_a_container(port) as endpoint:
        environment = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}
        sam = Path(sys.executable).with_name("sam")
        parameters = [f"DynamoDbEndpoint={endpoint}", f"Architecture={architecture}"]
        arguments = ["local", "invoke", Local().function(name), "--event", event, "--parameter-overrides", *parameters]
        sys.exit(subprocess.run([sam, *arguments], env=os.environ | environment).returncode)


def docker(*arguments):
    """What Docker says, or nothing if there is no Docker or no engine behind it."""
    if shutil.which("docker") is None:
        return ""
    asked = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else ""


@contextlib.contextmanager
def dynamodb():
    """The port of a running `make run`'s DynamoDB, or of one of our own."""
    port = int(os.environ.get("DYNAMODB_PORT", "8000"))
    if listens(port):
        yield port
        return
    ports = {name: str(free_port()) for name in ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT"]}
    environment = os.environ | ports | {"DEMO": "0"}
    local = subprocess.Popen([ROOT / "target/debug/local"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        if not any(line.startswith("ready") for line in local.stdout):
            sys.exit("the local system did not start")
        yield int(ports["DYNAMODB_PORT"])
    finally:
        local.terminate()
        local.wait()


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def reachable_from_a_container(port):
    """The URL under which a container reaches a port of our loopback.

    Docker Desktop has a name for it. On Linux a container reaches the host, but not its loopback, so we listen for it.
    """
    gateway = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}")
    server = relay_at(gateway)
    if server is None:
        yield f"http://host.docker.internal:{port}"
        return
    with server:
        server.daemon_threads = True
        server.port = port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{gateway}:{server.server_address[1]}"
        server.shutdown()


def relay_at(address):
    """Listens there, if that is an address of this machine."""
    if address:
        with contextlib.suppress(OSError):
            return socketserver.ThreadingTCPServer((address, 0), Relay)
    return None


class Relay(socketserver.BaseRequestHandler):
    """Hands a connection on to the loopback."""

    def handle(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as there:
            back = threading.Thread(target=copy, args=(there, self.request), daemon=True)
            back.start()
            copy(self.request, there)
            back.join()


def copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
