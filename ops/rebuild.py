"""`make rebuild`, `make rebuild-status`, `make rebuild-verify` and `make snapshot`: build a view from the archive of $STAGE, and check it.

STAGE=local works on a running `make run`, with the program `rebuild`. On AWS the state machine of the stack rebuilds, and this script
follows it. Plans (DRY_RUN=1), verify and snapshots also use the program `rebuild` there, with the caller's credentials.
docs/rebuild.md is the guide.
"""

import datetime
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from stage import ORDER_HISTORY, ROOT, Local, chosen_stages, outputs, parameters
from terminal import Status, amount, duration, grouped, say, stop

# Seconds between two requests to the state machine: at a terminal, and otherwise.
INTERVALS = {True: 2, False: 10}

# The exit codes of `rebuild`.
CLEAN, FAILED, QUARANTINED, DAMAGED, INTERRUPTED = 0, 1, 3, 4, 130

# The filters of a rebuild: the variable and the option of the program.
FILTERS = {"SINCE": "--since", "UNTIL": "--until", "TYPES": "--types", "ORDERS": "--orders", "SNAPSHOT": "--snapshot"}


def main(command):
    # Ends without an error when its reader ends.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    [stage] = [stage for stage in chosen_stages() if stage.service is ORDER_HISTORY] or [None]
    if stage is None:
        stop(f"STACK={os.environ['STACK']}: only {ORDER_HISTORY.name} has a view to rebuild")
    commands = {"rebuild": rebuild, "status": status, "verify": verify, "snapshot": snapshot}
    try:
        code = commands[command](LocalRebuild(stage) if isinstance(stage, Local) else AwsRebuild(stage))
    except (BotoCoreError, ClientError) as error:
        stop(f"{command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


def rebuild(where):
    into, run = os.environ.get("INTO", ""), os.environ.get("RUN", "")
    if not into and not run:
        stop("INTO is missing: set it to the table to write, such as INTO=ftgo-order-history-v2")
    if into and run:
        stop("set either INTO or RUN: INTO starts a new run; RUN continues a run, whose plan names the table")
    if os.environ.get("DRY_RUN"):
        if not into:
            stop("INTO is missing: DRY_RUN=1 needs the table to plan for")
        return where.command_line("plan", *from_archive(where), "--into", into, *options(), *rate())
    return where.resume(run) if run else where.start(into)


def status(where):
    run = os.environ.get("RUN", "")
    if not run:
        stop("RUN is missing: set it to the id that make rebuild printed")
    where.show_executions(run)
    return where.command_line("status", run, *from_archive(where))


def verify(where):
    left, right = os.environ.get("LEFT", ""), os.environ.get("RIGHT", "")
    if not left or not right:
        stop(
            "LEFT and RIGHT are missing: set them to two tables, or to a table and the word archive, such as LEFT=ftgo-order-history RIGHT=archive"
        )
    if left == "archive":
        stop("LEFT=archive: set LEFT to the table and RIGHT to archive")
    right = where.archive if right == "archive" else right
    sample = ["--sample", os.environ["SAMPLE"]] if os.environ.get("SAMPLE") else []
    return where.command_line("verify", "--left", left, "--right", right, *sample)


def snapshot(where):
    table = os.environ.get("FROM_TABLE", "")
    return where.command_line("snapshot", *from_archive(where), *(["--from-table", table] if table else []))


def from_archive(where):
    return ["--from", where.archive]


def options():
    """The filters of the rebuild, as options of the program."""
    return [word for name, option in FILTERS.items() if os.environ.get(name) for word in [option, os.environ[name]]]


def rate():
    return ["--rate", str(whole("RATE"))] if os.environ.get("RATE") else []


def whole(name):
    text = os.environ[name]
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        stop(f"{name}={text}: must be a whole number, at least 1")
    return int(text)


class LocalRebuild:
    """On the tables and the archive of a running `make run`."""

    def __init__(self, stage):
        self.stage = stage
        self.archive = str(stage.archive())

    def start(self, into):
        return self.command_line("run", *from_archive(self), "--into", into, "--create", *options(), *rate())

    def resume(self, run):
        return self.command_line("run", *from_archive(self), "--resume", run, *rate())

    def show_executions(self, run):
        """There are none: the run's folder has everything."""

    def command_line(self, *arguments):
        port = os.environ.get("DYNAMODB_PORT", "8000")
        environment = {
            "AWS_ENDPOINT_URL_DYNAMODB": f"http://127.0.0.1:{port}",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }
        code = command_line(
            ["cargo", "build", "--quiet", "--workspace", "--test=local", "--bin=rebuild"], "debug", arguments, environment
        )
        if code == FAILED and not is_listening(port):
            stop(
                f"`make run` is not running: start it in another terminal. If its DYNAMODB_PORT is not {port}, set DYNAMODB_PORT here too"
            )
        return code


class AwsRebuild:
    """With the state machine of a stack."""

    def __init__(self, stage):
        self.stage = stage
        self.stack = stage.deployed()
        found = outputs(self.stack)
        if "RebuildStateMachineArn" not in found:
            stop(
                f"the stack {stage.stack_name} has no archive to rebuild from: deploy it with Archive=true or with ArchiveBucket=…"
            )
        self.machine, self.bucket = found["RebuildStateMachineArn"], found["ArchiveBucket"]
        self.archive = f"s3://{self.bucket}"
        self.states, self.s3 = boto3.client("stepfunctions"), boto3.client("s3")

    def start(self, into):
        prefix = self.stage.prefix(self.stack)
        if into != prefix and not into.startswith(f"{prefix}-v"):
            stop(
                f"INTO={into}: the workers of this stack can write only to {prefix} and to tables whose names begin with {prefix}-v"
            )
        now = datetime.datetime.now(datetime.UTC)
        run = f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        return self.follow(run, self.execute(run, run, {"into": into} | self.request()))

    def request(self):
        """The filters of the rebuild, as the function Plan expects them."""
        given = {name.lower(): os.environ[name] for name in FILTERS if os.environ.get(name)}
        for name in given.keys() & {"types", "orders"}:
            given[name] = listed(given[name])
        if os.environ.get("RATE"):
            # Each worker gets its share.
            workers = int(parameters(self.stack).get("RebuildConcurrency", 1))
            if whole("RATE") < workers:
                stop(f"RATE={whole('RATE')}: must be at least {workers}, 1 for each worker (RebuildConcurrency)")
            given["rate"] = whole("RATE") // workers
        return given

    def resume(self, run):
        running = [found for found in self.executions(run) if found["status"] == "RUNNING"]
        if running:
            return self.follow(run, running[0]["executionArn"])
        # A name can be used once in 90 days. The run's plan has everything else; without a plan the execution fails.
        # https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
        again = f"{run}-again-{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}"
        return self.follow(run, self.execute(run, again, {}))

    def execute(self, run, name, request):
        started = self.states.start_execution(stateMachineArn=self.machine, name=name, input=json.dumps({"run": run} | request))
        return started["executionArn"]

    def executions(self, run):
        """The executions of a run, the newest first."""
        pages = self.states.get_paginator("list_executions").paginate(stateMachineArn=self.machine)
        return [
            found
            for page in pages
            for found in page["executions"]
            if found["name"] == run or found["name"].startswith(f"{run}-again-")
        ]

    def show_executions(self, run):
        for found in self.executions(run):
            say(f"execution {found['name']}: {found['status']}, started {found['startDate'].isoformat(timespec='seconds')}")
            for line in self.why(found["executionArn"]) if found["status"] == "FAILED" else []:
                say(f"  {line}")

    def follow(self, run, execution):
        """Shows the progress of an execution until it ends."""
        line = Status()
        line.tell(f"run {run}: execution {execution}", run=run)
        progress = Progress(self, run, execution)
        try:
            while True:
                described = self.states.describe_execution(executionArn=execution)
                progress.look()
                text, members = progress.shown()
                line.show(text, **members)
                if described["status"] != "RUNNING":
                    break
                time.sleep(INTERVALS[line.is_terminal])
        except KeyboardInterrupt:
            line.end()
            say("The rebuild continues on AWS.")
            say(f"  watch it again: {self.stage.make('rebuild')} RUN={run}")
            say(f"  stop it:        aws stepfunctions stop-execution --execution-arn {execution}")
            return INTERRUPTED
        line.end()
        return self.ended(run, described)

    def ended(self, run, described):
        again = f"{self.stage.make('rebuild')} RUN={run}"
        if described["status"] != "SUCCEEDED":
            say(f"the rebuild ended with status {described['status']}. The data that it has written is correct and stays")
            for line in self.why(described["executionArn"]):
                say(f"  {line}")
            say(f"Remove the cause, then continue: {again}")
            return FAILED
        report = json.loads(described["output"])
        say(f"run {run} is done; its folder is {self.archive}/runs/{run}/")
        for name in ["batches", "files", "events", "views", "quarantined", "damaged", "too_large", "corrupt", "contradictions"]:
            say(f"  {name.replace('_', ' '):<15}{grouped(report.get(name, 0)):>15}")
        if report.get("damaged"):
            return DAMAGED
        return CLEAN if report.get("clean", True) else QUARANTINED

    def why(self, execution):
        """Why an execution failed, and why its first worker did, in a few lines."""
        described = self.states.describe_execution(executionArn=execution)
        lines = [f"{described.get('error', 'no error given')}: {cause(described.get('cause', ''))}"]
        for run in self.states.list_map_runs(executionArn=execution)["mapRuns"]:
            failed = self.states.list_executions(mapRunArn=run["mapRunArn"], statusFilter="FAILED", maxResults=3)["executions"]
            for worker in failed:
                found = self.states.describe_execution(executionArn=worker["executionArn"])
                batch = json.loads(found.get("input") or "{}").get("batch", {}).get("id", "?")
                lines.append(f"batch {batch}: {found.get('error')}: {cause(found.get('cause', ''))}")
        return lines

    def command_line(self, *arguments):
        return command_line(["cargo", "build", "--release", "--package=rebuild", "--bin=rebuild"], "release", arguments, {})


class Progress:
    """The progress of a run: the results of its workers in the archive, and the number of workers."""

    def __init__(self, where, run, execution):
        self.where, self.run, self.execution = where, run, execution
        self.begun = time.monotonic()
        self.plan, self.results, self.counts = None, {}, {}
        # What was done before, if a run is continued.
        self.before = None

    def look(self):
        """Reads what is new."""
        for run in self.where.states.list_map_runs(executionArn=self.execution)["mapRuns"]:
            self.counts = self.where.states.describe_map_run(mapRunArn=run["mapRunArn"])["itemCounts"]
        folder = f"runs/{self.run}/"
        try:
            self.plan = self.plan or self.read(f"{folder}plan.json")
            pages = self.where.s3.get_paginator("list_objects_v2").paginate(
                Bucket=self.where.bucket, Prefix=f"{folder}results/"
            )
            for key in [found["Key"] for page in pages for found in page.get("Contents", [])]:
                if key not in self.results:
                    self.results[key] = self.read(key) or {}
        except ClientError as error:
            # Those who may start a rebuild may not be allowed to read the archive. Then only the counts are shown.
            if error.response["Error"]["Code"] not in ["AccessDenied", "403"]:
                raise
        if self.before is None:
            self.before = self.total("bytes"), self.events()

    def read(self, key):
        try:
            return json.loads(self.where.s3.get_object(Bucket=self.where.bucket, Key=key)["Body"].read())
        except self.where.s3.exceptions.NoSuchKey:
            return None

    def total(self, *path):
        found = 0
        for result in self.results.values():
            for name in path:
                result = result.get(name, 0) if isinstance(result, dict) else 0
            found += result
        return found

    def events(self):
        return self.total("summary", "events")

    def shown(self):
        """The line of `rebuild run`, with the workers, and its members."""
        of, done = (self.plan or {}).get("bytes", 0), self.total("bytes")
        finished, batches = self.counts.get("succeeded", 0), self.counts.get("total", 0)
        share = done / of if of and self.results else finished / batches if batches else 0
        seconds = max(time.monotonic() - self.begun, 0.001)
        now = done - self.before[0]
        speed = int((self.events() - self.before[1]) / seconds)
        left = int(seconds * (of - done) / now) + 1 if now > 0 else 0 if share == 1 else None
        quarantined = sum(sum(r.get("summary", {}).get("quarantined", {}).values()) for r in self.results.values())
        views, running, failed = self.total("stored", "views"), self.counts.get("running", 0), self.counts.get("failed", 0)
        text = (
            f"{share * 100:3.0f} % of {amount(of)}  {grouped(speed)} events/s  {grouped(views)} orders  {grouped(quarantined)} quarantined  "
            f"ETA {'?' if left is None else duration(left)}  {running} workers, {finished} of {batches} batches{f', {failed} FAILED' if failed else ''}"
        )
        return text, {
            "message": "progress",
            "run": self.run,
            "percent": round(share * 100, 1),
            "bytes": done,
            "of_bytes": of,
            "events": self.events(),
            "events_per_second": speed,
            "views": views,
            "quarantined": quarantined,
            "eta_seconds": left,
            "batches": finished,
            "of_batches": batches,
            "running": running,
            "failed": failed,
        }


def listed(text):
    """A list: separated by commas, or @FILE with one entry per line."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text()
        except OSError as error:
            stop(f"{text}: {error}")
    return [word for word in (word.strip() for word in text.replace("\n", ",").split(",")) if word]


def cause(text):
    """The error message of a function, from the text of Step Functions' error."""
    try:
        return json.loads(text).get("errorMessage") or text
    except (ValueError, AttributeError):
        return text or "no cause given"


def is_listening(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def command_line(build, profile, arguments, environment):
    """Builds and runs `rebuild`, and returns its exit code. REBUILD is the path of a program that is already built."""
    program = os.environ.get("REBUILD") or ROOT / "target" / profile / "rebuild"
    if not os.environ.get("REBUILD") and subprocess.run(build, cwd=ROOT).returncode != 0:
        stop("the build of the program rebuild failed")
    with subprocess.Popen([program, *arguments], env=os.environ | environment) as running:
        while True:
            try:
                return running.wait()
            except KeyboardInterrupt:
                # The program also gets Ctrl-C, and prints how to continue.
                continue


if __name__ == "__main__":
    main(sys.argv[1])
