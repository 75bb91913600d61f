"""A Docker engine and an image for `sam local`, on machines that have none."""

import contextlib
import fcntl
import io
import os
import platform
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import samcli
from docker.errors import ImageNotFound
from invoke import ARCHITECTURE, BASE_IMAGE, IMAGE, ROOT, engine, pull_options

BRIDGE = Path("/sys/class/net/docker0")


class Unavailable(Exception):
    """Why there is no engine or no image."""


@contextlib.contextmanager
def any_engine(logs):
    """The engine that answers, or one of our own that ends with this."""
    client = engine()
    if client is None:
        if platform.system() != "Linux" or os.geteuid() != 0:
            raise Unavailable("no Docker engine answers, and only root on Linux can start one")
        if shutil.which("dockerd") is None:
            install(logs)
            # Where systemd runs, the package has started one.
            client = engine()
    if client is not None:
        yield client
        return
    with private_engine(logs) as client:
        yield client


def install(logs):
    if shutil.which("apt-get") is None:
        raise Unavailable("no Docker engine answers, and without apt-get none can be installed")
    print("installing docker.io (once)", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with (logs / "apt.log").open("w") as log:
        for arguments in [["update"], ["install", "--yes", "--no-install-recommends", "docker.io", "iproute2"]]:
            done = subprocess.run(["apt-get", *arguments], env=environment, stdout=log, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise Unavailable(f"no Docker engine answers, and docker.io cannot be installed: see {log.name}")


@contextlib.contextmanager
def private_engine(logs):
    """An engine that only we know of. It touches neither the firewall nor the routing of this machine."""
    with contextlib.ExitStack() as stack:
        # The bridge has one name and one subnet on a machine, so there is one such engine at a time.
        program = stack.enter_context(Path(shutil.which("dockerd")).open("rb"))
        try:
            fcntl.flock(program, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for the end of another run", flush=True)
            fcntl.flock(program, fcntl.LOCK_EX)
        # A socket's path has at most 107 characters: https://man7.org/linux/man-pages/man7/unix.7.html
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ftgo-dockerd-")))
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dockerd-", dir=ROOT / "target")))
        log = stack.enter_context((logs / "dockerd.log").open("w"))
        host = f"unix://{work}/socket"
        folders = [f"--data-root={data}", f"--exec-root={work}/exec", f"--pidfile={work}/pid"]
        network = ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
        # The vfs driver works on every file system. The engine ends if we are killed, and not by our terminal's Ctrl-C.
        arguments = ["setpriv", "--pdeathsig", "TERM", "dockerd", "--host", host, "--storage-driver=vfs", *folders, *network]
        if not BRIDGE.exists():
            stack.callback(delete_bridge)
        dockerd = subprocess.Popen(arguments, stdout=log, stderr=log, start_new_session=True)
        stack.callback(end, dockerd)
        os.environ["DOCKER_HOST"] = host
        client = await_ready(dockerd, engine)
        if client is None:
            reason = last_line(Path(log.name))
            raise Unavailable(f"no Docker engine answers, and dockerd does not start: {reason} (more in {log.name})")
        yield client


def await_ready(process, ready):
    """Waits until that returns something, for as long as the process runs, two minutes at most."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if result := ready():
            return result
        time.sleep(0.1)
    return None


def last_line(log):
    return log.read_text().rstrip().rsplit("\n", 1)[-1]


def end(process, by=signal.SIGTERM):
    process.send_signal(by)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def delete_bridge():
    if BRIDGE.exists():
        subprocess.run(["ip", "link", "delete", BRIDGE.name], check=True)


@contextlib.contextmanager
def any_image(client):
    """What tells sam which image to take: AWS's own, the one that is here, or a stand-in that is removed after this."""
    options = pull_options(client)
    if options is not None:
        if os.environ.get("BUILD_PROFILE") == "dev":
            raise Unavailable(
                f"in {BASE_IMAGE} is an older C library than the one of this machine, for which BUILD_PROFILE=dev builds; "
                "run make sam-local alone, or make check BUILD_PROFILE=release"
            )
        yield options
        return
    make_stand_in(client)
    try:
        yield ["--skip-pull-image"]
    finally:
        with contextlib.suppress(ImageNotFound):
            client.images.remove(IMAGE, force=True)


def make_stand_in(client):
    """Makes an image of what the functions need: the C library of this machine, and sam's own Runtime API."""
    if platform.system() != "Linux":
        raise Unavailable(f"{BASE_IMAGE} cannot be pulled, and only Linux has a C library for a stand-in")
    rie = Path(samcli.__file__).parent / f"local/rapid/aws-lambda-rie-{ARCHITECTURE}"
    files = {"/var/rapid/aws-lambda-rie": rie}
    for binary in (ROOT / "target/lambda").glob("*/bootstrap"):
        needed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        files |= {path: Path(path).resolve() for path in re.findall(r"(/\S+) \(0x", needed)}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for folder in ["tmp", "var/task"]:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o777
            tar.addfile(entry)
        for path, source in files.items():
            entry = tar.gettarinfo(source, arcname=path.lstrip("/"))
            entry.mode = 0o755
            with source.open("rb") as file:
                tar.addfile(entry, file)
    repository, tag = IMAGE.rsplit(":", 1)
    client.api.import_image_from_data(archive.getvalue(), repository=repository, tag=tag)
    print(f"made a stand-in: {', '.join(sorted(files))}", flush=True)
