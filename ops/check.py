"""`make check`: every check of the repository, several at once, and a table of what ran and how long it took.

Each step is a target of the Makefile with the same name. Its output is in target/check/<step>.log; the end of it is printed if the step
fails. A step starts when the steps that it needs have passed and a place is free. Arguments choose steps: `python3 ops/check.py lint web`.
CHECK_JOBS is how many steps run at once. A step that cannot run here, such as one that needs Docker, is skipped; with SKIPS=fail that is a failure.
"""

import collections
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - for whoever runs it with an older one
    sys.exit(f"make check needs Python 3.11 or later; found {sys.version.split()[0]}.")

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "target/check"

# Three on two cores: some steps mostly wait, for a timeout of a queue or for a container.
JOBS = max(1, int(os.environ.get("CHECK_JOBS") or (os.cpu_count() or 2) + 1))

# What each step needs. Of those that are ready, the first one starts first; so the long ones come first.
STEPS = {
    "clippy": [],
    "everything": [],
    "tools": [],
    "style": ["tools"],
    "e2e": ["everything", "tools"],
    "test": ["everything"],
    "ops": ["everything", "tools"],
    "browser": ["everything", "tools"],
    "sam-local": ["everything", "tools"],
    "contract": ["everything", "tools"],
    "interop": ["everything", "tools"],
    "web": [],
    "template": ["tools"],
    "deny": ["tools"],
    "unused": ["tools"],
    "scale": [],
    "msrv": [],
}

# Both want cargo's lock of the target folder, so the build waits for clippy, whatever clippy says.
AFTER = {"everything": "clippy"}

# The step `everything` has built every program and every test. Those after it build nothing, and take the programs of the dev profile for
# Lambdas (docs/adr/0020).
AFTER_BUILD = {"BUILT": "1", "BUILD_PROFILE": os.environ.get("BUILD_PROFILE") or "dev"}

PASSED, FAILED, SKIPPED, STOPPED, NOT_RUN = "passed", "FAILED", "skipped", "stopped", "not run"


@dataclass
class Run:
    """What came of a step. `cpu` is the time of all its processes, and of those that they waited for, in seconds."""

    result: str
    seconds: float = 0
    cpu: float = 0
    note: str = ""


def main():
    chosen = sys.argv[1:] or list(STEPS)
    if unknown := [name for name in chosen if name not in STEPS]:
        sys.exit(f"unknown step {', '.join(unknown)}; expected {', '.join(STEPS)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    check = Check({name: [need for need in STEPS[name] if need in chosen] for name in STEPS if name in chosen})
    try:
        check.run()
    except KeyboardInterrupt:
        check.print_table()
        sys.exit(130)
    check.print_table()
    sys.exit(exit_code(check.runs, os.environ.get("SKIPS")))


def exit_code(runs, skips):
    """1 if a step failed or did not run, or, with SKIPS=fail, if one was skipped."""
    if skips == "fail" and (skipped := [name for name, run in runs.items() if run.result == SKIPPED]):
        print(f"failed, because SKIPS=fail and these steps were skipped: {', '.join(skipped)}", flush=True)
        return 1
    return 1 if any(run.result in [FAILED, NOT_RUN] for run in runs.values()) else 0


def standalone():
    """The environment for a `make` that runs as if it were called alone, not by the make that called us."""
    return {key: value for key, value in os.environ.items() if key not in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS"]}


class Check:
    def __init__(self, steps):
        self.started = time.monotonic()
        self.steps = steps
        self.waiting = dict(steps)
        # By process id: the step's name, its process, and when it started.
        self.running = {}
        self.runs = {}

    def run(self):
        try:
            while self.waiting or self.running:
                for name, needs in list(self.waiting.items()):
                    results = {need: self.runs[need].result if need in self.runs else None for need in needs}
                    if failed := [need for need, result in results.items() if result in [FAILED, NOT_RUN]]:
                        del self.waiting[name]
                        self.runs[name] = Run(NOT_RUN, note=f"it needs {failed[0]}: {results[failed[0]]}")
                        self.say("not run", name)
                    elif None not in results.values() and not self.is_open(AFTER.get(name)) and len(self.running) < JOBS:
                        del self.waiting[name]
                        self.start(name)
                if self.running:
                    self.finish_one()
        except BaseException:
            self.stop()
            raise

    def is_open(self, name):
        return name in self.steps and name not in self.runs

    def start(self, name):
        command = ["make", "--no-print-directory", name]
        environment = standalone() | {"NO_COLOR": "1", "CARGO_TERM_COLOR": "never"}
        if "everything" in self.steps:
            environment |= AFTER_BUILD if name != "everything" else {}
        with log_of(name).open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running[process.pid] = (name, process, time.monotonic())
        self.say("start", name)

    def finish_one(self):
        """Waits until one of the running steps ends."""
        pid, status, usage = os.wait4(-1, 0)
        name, process, started = self.running.pop(pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        run = Run(PASSED, time.monotonic() - started, usage.ru_utime + usage.ru_stime)
        self.runs[name] = run
        lines = log_of(name).read_text(errors="replace").splitlines()
        if process.returncode != 0:
            run.result = FAILED
            run.note = f"make {name}; all of its output is in {log_of(name).relative_to(ROOT)}"
        elif skipped := next((line for line in lines if line.startswith("skipped: ")), None):
            run.result, run.note = SKIPPED, skipped.removeprefix("skipped: ")
        self.say(run.result, name, duration(run.seconds))
        if run.result == FAILED:
            for line in collections.deque(lines, maxlen=40):
                print(f"        | {line}", flush=True)
            print(f"        To run it alone: make {name}", flush=True)

    def stop(self):
        """Ends the running steps. They delete what they have deployed, so this takes its time; a second Ctrl-C must not cut it off."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self.running:
            names = ", ".join(name for name, _, _ in self.running.values())
            print(f"\nstopping {names}; this can take a minute", flush=True)
        for pid in self.running:
            os.killpg(pid, signal.SIGTERM)
        for name, process, started in self.running.values():
            process.wait()
            self.runs[name] = Run(STOPPED, time.monotonic() - started)

    def say(self, what, name, more=""):
        print(f"{duration(time.monotonic() - self.started)}  {what:<8} {name:<10} {more}".rstrip(), flush=True)

    def print_table(self):
        print(f"\n{'step':<10} {'result':<8} {'time':>7} {'CPU':>7}")
        for name in self.steps:
            run = self.runs.get(name, Run(NOT_RUN))
            print(f"{name:<10} {run.result:<8} {duration(run.seconds):>7} {duration(run.cpu):>7}  {run.note}".rstrip())
        total = sum(run.cpu for run in self.runs.values())
        print(f"{'all':<10} {'':<8} {duration(time.monotonic() - self.started):>7} {duration(total):>7}", flush=True)


def log_of(name):
    return LOGS / f"{name}.log"


def duration(seconds):
    return f"{int(seconds) // 60:>3}m {int(seconds) % 60:02}s"


if __name__ == "__main__":
    main()
