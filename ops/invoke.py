"""`make invoke`: runs the function $FN once, on the event in the file $EVENT. The answer is on standard output, the log on
standard error.

Where a Docker engine answers, `sam local invoke` runs it in AWS's own image; elsewhere the Runtime API host of `make run` does.
Either way it works on the tables of a running `make run`, or on those that the last one left.
"""

import contextlib
import ipaddress
import os
import platform
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from requests.exceptions import RequestException
from stage import EVENT_TYPES, ROOT, Local, chosen_function

ARCHITECTURE = {"x86_64": "x86_64", "AMD64": "x86_64"}.get(platform.machine(), "arm64")

# What `sam local` pulls, and what it makes of it: the same with its own aws-lambda-rie inside.
BASE_IMAGE = f"public.ecr.aws/lambda/provided:al2023-{ARCHITECTURE}"
IMAGE = f"public.ecr.aws/lambda/provided:al2023-rapid-{ARCHITECTURE}"

# What sam and the functions run with: no account is asked, nothing is reported.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_REGION": "us-east-1",
    "SAM_CLI_TELEMETRY": "0",
}


def main():
    name = chosen_function([*EVENT_TYPES, "query-api"])
    event = os.environ.get("EVENT", "")
    if not Path(event).is_file():
        sys.exit(f"EVENT={event}: say which file, such as EVENT=events/OrderCreated.json")
    build_local()
    client = engine()
    pull = None if client is None else pull_options(client)
    if pull is None:
        if client is not None:
            print("there is no image here either: running the function without a container", file=sys.stderr)
        os.execv(ROOT / "target/debug/local", ["local", "invoke", name, event])
    build_lambda()
    with dynamodb() as port, reachable_from_a_container(client, port) as endpoint, no_container_left(client, endpoint):
        arguments = sam_local("invoke", Local().function(name), "--event", event, endpoint=endpoint, options=pull)
        status = subprocess.run(arguments, env=os.environ | ENVIRONMENT).returncode
    sys.exit(status)


def build_local():
    """The local system, and the functions as it runs them."""
    subprocess.run(["cargo", "build", "-p", "local", "-p", "event-handlers", "-p", "query-api"], cwd=ROOT, check=True)


def build_lambda():
    """The functions as they are deployed, for this machine."""
    subprocess.run([ROOT / "ops/build", ARCHITECTURE], stdout=sys.stderr, check=True)


def engine():
    """The Docker engine that sam uses too, by DOCKER_HOST or at its usual place. None if it does not answer."""
    with contextlib.suppress(DockerException, RequestException):
        client = docker.from_env()
        client.ping()
        return client
    return None


def pull_options(client):
    """What tells sam to do without the registry if that cannot be reached. None if there is no image here either."""
    try:
        client.images.get_registry_data(BASE_IMAGE)
        return []
    except (APIError, RequestException) as error:
        # The latter if the engine itself waits for the registry too long.
        print(f"{BASE_IMAGE} cannot be pulled: {getattr(error, 'explanation', None) or error}", file=sys.stderr)
    for image in [IMAGE, BASE_IMAGE]:
        with contextlib.suppress(ImageNotFound):
            client.images.get(image)
            print(f"using {image}, which is here", file=sys.stderr)
            return ["--skip-pull-image"]
    return None


def sam_local(command, *arguments, endpoint, options):
    """The arguments of a process that runs `sam local`, with DynamoDB at that endpoint."""
    sam = Path(sys.executable).with_name("sam")
    parameters = [f"DynamoDbEndpoint={endpoint}", f"Architecture={ARCHITECTURE}"]
    return [sam, "local", command, *arguments, *options, "--parameter-overrides", *parameters]


@contextlib.contextmanager
def no_container_left(client, endpoint):
    """Removes the containers with that endpoint if we are interrupted: sam may be killed before it has done it."""
    try:
        yield
    except BaseException:
        for container in client.containers.list(
            all=True, filters={"label": "sam.cli.container.type=lambda"}, ignore_removed=True
        ):
            if f"AWS_ENDPOINT_URL_DYNAMODB={endpoint}" in container.attrs["Config"]["Env"]:
                with contextlib.suppress(APIError, RequestException):
                    container.remove(force=True)
        raise


@contextlib.contextmanager
def dynamodb():
    """The port of a running `make run`'s DynamoDB, or of one of our own."""
    port = int(os.environ.get("DYNAMODB_PORT", "8000"))
    if listens(port):
        yield port
    else:
        with local_system({}) as ports:
            yield ports["DYNAMODB_PORT"]


@contextlib.contextmanager
def local_system(environment):
    """The ports, by their variables, of a local system that ends with this."""
    ports = {name: free_port() for name in ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT"]}
    environment = os.environ | {name: str(port) for name, port in ports.items()} | {"DEMO": "0"} | environment
    local = subprocess.Popen([ROOT / "target/debug/local"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        if not any(line.startswith("ready") for line in local.stdout):
            sys.exit("the local system did not start")
        yield ports
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
def reachable_from_a_container(client, port):
    """The URL under which a container reaches a port of our loopback.

    Docker Desktop has a name for it. On Linux a container reaches the host, but not its loopback, so we listen for it.
    """
    address = bridge_address(client)
    server = relay_at(address)
    if server is None:
        yield f"http://host.docker.internal:{port}"
        return
    with server:
        server.daemon_threads = True
        server.port = port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{address}:{server.server_address[1]}"
        finally:
            server.shutdown()


def bridge_address(client):
    """The engine's own address on the bridge that containers are connected to, or None."""
    with contextlib.suppress(NotFound):
        for pool in client.networks.get("bridge").attrs["IPAM"]["Config"]:
            subnet = ipaddress.ip_network(pool["Subnet"])
            if subnet.version == 4:
                # An engine that has just made its bridge does not name the gateway; it has taken the first address.
                return pool.get("Gateway") or str(next(subnet.hosts()))
    return None


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


def exit_on_signals():
    """Turns the first Ctrl-C or SIGTERM into an exit, so that everything that was started ends too, and ignores the next."""

    def leave(number, _):
        for each in [signal.SIGINT, signal.SIGTERM]:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in [signal.SIGINT, signal.SIGTERM]:
        signal.signal(each, leave)


if __name__ == "__main__":
    exit_on_signals()
    main()
