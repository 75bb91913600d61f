"""Follows the documents of docs/guide: `guide.py <an empty directory> [document…]`.

README.md makes a crate. The numbered chapters, and then the other documents, go on in it. Where documents are named, only README.md and these
are followed. A document is a list of fenced blocks, which are taken in their order:

- a block below a line that is only a file name in backquotes is written to that file;
- `sh` is run by one bash for all documents, so that variables and the directory stay;
- `console` is what the `sh` block above it prints to standard output: `…` in a line stands for any text, and a line that is only
  `…` for any lines;
- `text`, `java` and `python` are for people only.

Any other block is an error, also one that is indented or begins with ~~~, and so is a file after the last command.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from emulator import await_health
from free_port import free_port

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"
COMMANDS = ["sh", "console"]
FOR_PEOPLE = ["text", "java", "python"]
# Seconds of one block. The first build is the longest.
LONGEST = 1800
STARTED = time.monotonic()


@dataclass
class Block:
    place: str
    language: str
    file: str | None
    text: str


class Broken(Exception):
    """The guide does not say what is true."""


def documents(names):
    start, chapters, others = GUIDE / "README.md", sorted(GUIDE.glob("[0-9]*.md")), sorted(GUIDE.glob("from-*.md"))
    if forgotten := set(GUIDE.glob("**/*.md")).difference([start], chapters, others):
        names = ", ".join(sorted(str(path.relative_to(GUIDE)) for path in forgotten))
        raise Broken(f"this test does not follow {names}: name it `<number>-….md` or `from-….md`")
    if names:
        return [start, *(GUIDE / f"{name}.md" for name in names)]
    return [start, *chapters, *others]


def blocks(path):
    lines = iter(enumerate(path.read_text().splitlines(), start=1))
    above = ""
    for number, line in lines:
        if not line.startswith("```"):
            if line.lstrip().startswith(("```", "~~~")):
                raise Broken(f"{path.name}:{number}: a block must begin with ``` at the start of a line")
            above = line if line.strip() else above
            continue
        text = []
        for _, inner in lines:
            if inner == "```":
                break
            text.append(inner)
        else:
            raise Broken(f"{path.name}:{number}: the block has no end")
        named = re.fullmatch(r"`([\w./-]+)`", above)
        file = named and named[1]
        language = line.removeprefix("```")
        if not file and language not in (*COMMANDS, *FOR_PEOPLE):
            raise Broken(f"{path.name}:{number}: a block of {language or 'no language'} that is neither written nor run")
        yield Block(f"{path.name}:{number}", language, file, "".join(f"{each}\n" for each in text))
        above = ""


class Shell:
    """One bash, which ends at the first command that fails."""

    def __init__(self, work, environment):
        self.work = work
        command = ["bash", "-euo", "pipefail"]
        # A session of its own, so that what takes too long is ended with all that it started.
        self.bash = subprocess.Popen(
            command,
            cwd=work,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, block):
        script, out, err = (self.work / f".{name}" for name in ("block", "out", "err"))
        script.write_text(cloned_by_a_link(block.text))
        self.bash.stdin.write(f'. "{script}" </dev/null >"{out}" 2>"{err}"; pwd\n')
        self.bash.stdin.flush()
        limit = threading.Timer(LONGEST, os.killpg, [self.bash.pid, signal.SIGKILL])
        limit.start()
        directory = self.bash.stdout.readline().rstrip("\n")
        limit.cancel()
        if not directory:
            raise Broken(f"{block.place}: the command failed\n{block.text}\n{out.read_text()}{tail(err.read_text())}")
        return Path(directory), out.read_text()

    def end(self):
        self.bash.stdin.close()
        self.bash.wait()


def cloned_by_a_link(script):
    """The dependencies are those of this tree, committed or not."""
    repository = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["repository"]
    return script.replace(f"git clone {repository} ", f"ln -s {shlex.quote(str(ROOT))} ")


def compare(block, printed):
    """Fails unless all that was printed is as the block says."""
    pattern = ""
    for line in block.text.splitlines():
        pattern += r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
    if not re.fullmatch(pattern, printed):
        raise Broken(f"{block.place}: other output\n-- the guide\n{block.text}-- the command\n{tail(printed)}")


def tail(text):
    return "\n".join(text.splitlines()[-60:]) + "\n"


@contextlib.contextmanager
def aws():
    """MiniStack, an emulator of AWS, and the address under which commands and functions find it."""
    port = str(free_port())
    endpoint = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    with tempfile.TemporaryDirectory() as data, Path(data, "log").open("w") as log:
        # AUTH makes it check signatures, and the policies of roles.
        settings = {"GATEWAY_PORT": port, "BIND_HOST": "127.0.0.1", "TMPDIR": data, "AUTH": "true"}
        settings |= {"IOT_MTLS_ENABLED": "0", "SFTP_ENABLED": "0"}
        program = ROOT / "target/venv/ministack/bin/ministack"
        # A session of its own, so that the functions that it starts end with it.
        running = subprocess.Popen(
            [program], env=os.environ | endpoint | settings, stdout=log, stderr=log, start_new_session=True
        )
        try:
            await_health(running, f"{endpoint['AWS_ENDPOINT_URL']}/health")
            yield endpoint
        except Broken as broken:
            raise Broken(f"{broken}\n-- the end of MiniStack's log\n{tail(Path(data, 'log').read_text())}") from broken
        finally:
            os.killpg(running.pid, signal.SIGTERM)
            running.wait()


def follow(paths, work, environment):
    shell, directory, printed, unused = Shell(work, environment), work, None, None
    try:
        for block in [block for path in paths for block in blocks(path)]:
            if block.file:
                file = directory / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text)
                unused = block
            elif block.language == "sh":
                started = time.monotonic()
                directory, printed = shell.run(block)
                first, *more = block.text.splitlines()
                say(f"{time.monotonic() - started:5.1f}s  {block.place}  {first}{' …' if more else ''}")
                unused = None
            elif block.language == "console":
                if printed is None:
                    raise Broken(f"{block.place}: there is no command above it")
                compare(block, printed)
                printed = None
    finally:
        shell.end()
    if unused:
        raise Broken(f"{unused.place}: no command uses {unused.file}")


def say(text):
    print(f"== {time.monotonic() - STARTED:4.0f}s  {text}", flush=True)


def main(work, *names):
    paths = documents(names)
    is_deployed = any("sam deploy" in path.read_text() for path in paths)
    with aws() if is_deployed else contextlib.nullcontext({}) as endpoint:
        follow(paths, Path(work), os.environ | endpoint)
    say(f"followed {', '.join(path.name for path in paths)}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Broken as broken:
        sys.exit(f"{broken}")
