"""`make invoke`: runs the function $FN once, on the event in the file $EVENT. The response is on standard output, the log on
standard error. INTENT=<id> puts the id of a payment intent of yours into a sample of events/payments.

If Docker is running, `sam local invoke` runs it in AWS's own image; otherwise the Runtime API host of `make run` does. In both cases it
uses the tables, the topic and the gateway of a running `make run`, or those that the last one left.
"""

import contextlib
import ipaddress
import json
import os
import platform
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from free_port import free_port
from requests.exceptions import RequestException
from stage import PAYMENTS, ROOT, STEPS, Local, chosen_function

ARCHITECTURE = {"x86_64": "x86_64", "AMD64": "x86_64"}.get(platform.machine(), "arm64")

# The image that `sam local` pulls, and the one that it builds from it, with its own aws-lambda-rie.
BASE_IMAGE = f"public.ecr.aws/lambda/provided:al2023-{ARCHITECTURE}"
IMAGE = f"public.ecr.aws/lambda/provided:al2023-rapid-{ARCHITECTURE}"

# The environment of sam and the functions: no AWS account, no telemetry.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_REGION": "us-east-1",
    "SAM_CLI_TELEMETRY": "0",
}


# The default ports of `make run`.
PORTS = {"DYNAMODB_PORT": 8000, "SNS_PORT": 9911, "S3_PORT": 9000, "GATEWAY_PORT": 3002}

# The payment intent of the samples in events/payments. Ids are random, so it does not exist; INTENT replaces it.
SAMPLE_INTENT = "3f1c9a52-7f0e-4a53-9d7e-2b6f0c8e4d11"

# The topic and the secret for the functions of Payments. A stand-in provides the secret.
TOPIC_ARN = "arn:aws:sns:us-east-1:000000000000:domain-events"
SECRET_ARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:gateway-AbCdEf"


def main():
    # A state machine runs the steps of a rebuild. On this machine `make rebuild STAGE=local` does the same.
    service, name = chosen_function(lambda service: [name for name in service.functions if name not in STEPS])
    event = os.environ.get("EVENT", "")
    if not Path(event).is_file():
        sys.exit(f"EVENT={event}: must be a file, such as EVENT=events/OrderCreated.json or EVENT=events/payments/create.json")
    if intent := os.environ.get("INTENT"):
        event = about_intent(event, intent, ROOT / "target/invoke-event.json")
    build_local()
    client = engine()
    pull = None if client is None else pull_options(client)
    if pull is None:
        if client is not None:
            print("the image is not on this machine either: running the function without a container", file=sys.stderr)
        os.execv(ROOT / "target/debug/local", ["local", "invoke", name, event])
    build_lambda()
    with running() as ports, reachable(client, ports) as endpoints, no_container_left(client, endpoints):
        function = Local(service).called(name)
        arguments = sam_local(service, "invoke", function, "--event", event, endpoints=endpoints, options=pull)
        status = subprocess.run(arguments, env=os.environ | ENVIRONMENT).returncode
    sys.exit(status)


def about_intent(event, intent, file):
    """Writes a sample of events/payments to a file, about this payment intent instead of the one that it names. Returns the file."""
    file.write_text(Path(event).read_text().replace(SAMPLE_INTENT, intent))
    return file


def build_local():
    """Builds the local system and its functions, unless BUILT is set."""
    if not os.environ.get("BUILT"):
        subprocess.run(["make", "--no-print-directory", "system"], cwd=ROOT, stdout=sys.stderr, check=True)


def build_lambda():
    """Builds the functions as they are deployed, for this machine."""
    subprocess.run([ROOT / "ops/build", ARCHITECTURE], stdout=sys.stderr, check=True)


def engine():
    """The Docker engine that sam also uses, from DOCKER_HOST or the default. None if it does not respond."""
    with contextlib.suppress(DockerException, RequestException):
        client = docker.from_env()
        client.ping()
        return client
    return None


def pull_options(client):
    """The options with which sam works without the registry, if it cannot be reached. None if this machine has no image either."""
    try:
        client.images.get_registry_data(BASE_IMAGE)
        return []
    except (APIError, RequestException) as error:
        # RequestException if the engine itself waits too long for the registry.
        print(f"{BASE_IMAGE} cannot be pulled: {getattr(error, 'explanation', None) or error}", file=sys.stderr)
    for image in [IMAGE, BASE_IMAGE]:
        with contextlib.suppress(ImageNotFound):
            client.images.get(image)
            print(f"using {image} from this machine", file=sys.stderr)
            return ["--skip-pull-image"]
    return None


def sam_local(service, command, *arguments, endpoints, options):
    """The arguments of a process that runs `sam local` for a service, with DynamoDB, topic, gateway and secret at these endpoints."""
    sam = Path(sys.executable).with_name("sam")
    parameters = {"DynamoDbEndpoint": endpoints["DYNAMODB_PORT"], "Architecture": ARCHITECTURE}
    if service is PAYMENTS:
        parameters |= {
            "DomainEventsTopicArn": TOPIC_ARN,
            "SnsEndpoint": endpoints["SNS_PORT"],
            "GatewayUrl": endpoints["GATEWAY_PORT"],
            "GatewaySecretArn": SECRET_ARN,
            "SecretsManagerEndpoint": endpoints["SECRETS_MANAGER_PORT"],
        }
    else:
        parameters |= {"S3Endpoint": endpoints["S3_PORT"]}
    config = ["--config-env", service.config_envs["development"]]
    overrides = [f"{name}={value}" for name, value in parameters.items()]
    return [sam, "local", command, *arguments, *config, *options, "--parameter-overrides", *overrides]


@contextlib.contextmanager
def no_container_left(client, endpoints):
    """Removes the containers with these endpoints if we are interrupted, because sam may be killed before it does."""
    try:
        yield
    except BaseException:
        for container in client.containers.list(
            all=True, filters={"label": "sam.cli.container.type=lambda"}, ignore_removed=True
        ):
            if f"AWS_ENDPOINT_URL_DYNAMODB={endpoints['DYNAMODB_PORT']}" in container.attrs["Config"]["Env"]:
                with contextlib.suppress(APIError, RequestException):
                    container.remove(force=True)
        raise


@contextlib.contextmanager
def running():
    """The ports, by their variables, of a running `make run`, or of a local system started here."""
    ports = {name: int(os.environ.get(name, port)) for name, port in PORTS.items()}
    if listens(ports["DYNAMODB_PORT"]):
        yield ports
    else:
        with local_system({}) as ports:
            yield ports


@contextlib.contextmanager
def local_system(environment):
    """The ports, by their variables, of a local system that ends with this."""
    ports = {name: free_port() for name in ["HTTP_PORT", "SQS_PORT", *PORTS]}
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


@contextlib.contextmanager
def reachable(client, ports):
    """The URLs under which a container reaches these ports of our loopback, and a Secrets Manager that has the gateway's secret.

    Docker Desktop has a name for our loopback. On Linux a container can reach the host, but not its loopback, so we forward connections.
    """
    with contextlib.ExitStack() as stack:
        ports = ports | {"SECRETS_MANAGER_PORT": stack.enter_context(secrets_manager())}
        address = bridge_address(client)
        urls = {}
        for name, port in ports.items():
            server = relay_at(address)
            if server is None:
                urls[name] = f"http://host.docker.internal:{port}"
                continue
            server.daemon_threads = True
            server.port = port
            stack.enter_context(served(server))
            urls[name] = f"http://{address}:{server.server_address[1]}"
        yield urls


@contextlib.contextmanager
def secrets_manager():
    """The port of a stand-in for Secrets Manager: every secret is `local`, which the stand-in gateway accepts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.dumps({"ARN": SECRET_ARN, "Name": "gateway", "SecretString": "local"}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with served(server):
        yield server.server_port


@contextlib.contextmanager
def served(server):
    """A server that serves until this ends."""
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def bridge_address(client):
    """The engine's own address on the bridge that containers are connected to, or None."""
    with contextlib.suppress(NotFound):
        for pool in client.networks.get("bridge").attrs["IPAM"]["Config"]:
            subnet = ipaddress.ip_network(pool["Subnet"])
            if subnet.version == 4:
                # An engine that has just created its bridge does not return the gateway; it uses the first address.
                return pool.get("Gateway") or str(next(subnet.hosts()))
    return None


def relay_at(address):
    """Listens at this address, if it belongs to this machine."""
    if address:
        with contextlib.suppress(OSError):
            return socketserver.ThreadingTCPServer((address, 0), Relay)
    return None


class Relay(socketserver.BaseRequestHandler):
    """Forwards a connection to the loopback."""

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
