"""`make invoke`: runs the function $FN once, on the event in the file $EVENT. The answer is on standard output, the log on
standard error. INTENT=<id> puts the id of a payment intent of yours into a sample of events/payments.

Where a Docker engine answers, `sam local invoke` runs it in AWS's own image; elsewhere the Runtime API host of `make run` does.
Either way it works on the tables, the topic and the gateway of a running `make run`, or on those that the last one left.
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
from requests.exceptions import RequestException
from stage import PAYMENTS, ROOT, STEPS, Local, chosen_function

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


# Where a `make run` listens unless told.
PORTS = {"DYNAMODB_PORT": 8000, "SNS_PORT": 9911, "S3_PORT": 9000, "GATEWAY_PORT": 3002}

# The payment intent of the samples in events/payments. Ids are random, so nobody has it until INTENT names another.
SAMPLE_INTENT = "3f1c9a52-7f0e-4a53-9d7e-2b6f0c8e4d11"

# What the functions of Payments are told of the topic and of the secret, which a stand-in has.
TOPIC_ARN = "arn:aws:sns:us-east-1:000000000000:domain-events"
SECRET_ARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:gateway-AbCdEf"


def main():
    # The steps of a rebuild are a state machine's; on this machine `make rebuild STAGE=local` does the same.
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
    """Builds the local system, and the functions as it runs them, unless BUILT says that this is done."""
    if not os.environ.get("BUILT"):
        subprocess.run(["make", "--no-print-directory", "system"], cwd=ROOT, stdout=sys.stderr, check=True)


def build_lambda():
    """Builds the functions as they are deployed, for this machine."""
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
    """Removes the containers with these endpoints if we are interrupted: sam may be killed before it has done it."""
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
    """The ports, by their variables, of a running `make run`, or of one of our own."""
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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def reachable(client, ports):
    """The URLs under which a container reaches these ports of our loopback, and a Secrets Manager that has the gateway's secret.

    Docker Desktop has a name for our loopback. On Linux a container reaches the host, but not its loopback, so we listen for it.
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
    """The port of a stand-in of Secrets Manager: every secret is `local`, which the stand-in gateway takes."""

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
