"""`make sam-local`: every sample of events/ through the real `sam local`, and some requests through the real `sam local start-api`. The
responses must be those of our own Runtime API host and HTTP API, on tables that have seen the same events.

The first sample of each service goes through `sam local invoke`, as `make invoke` does it. It needs ten seconds of processor time to
read a template, so the others go through one `sam local start-lambda`, which reads it once and runs the same containers.

The samples of events/payments are one story: the intent that is created is the one that is changed, charged and published.

It uses the Docker engine that answers, or starts one, and AWS's own image, or makes a stand-in. Where neither is possible, it skips.
Everything that it starts ends with it; logs are in target/sam-local.
"""

import contextlib
import copy
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import boto3
from botocore.config import Config
from engine import Unavailable, any_engine, any_image, await_ready, end, last_line
from free_port import free_port
from invoke import (
    ENVIRONMENT,
    IMAGE,
    ROOT,
    SAMPLE_INTENT,
    about_intent,
    build_lambda,
    build_local,
    exit_on_signals,
    listens,
    local_system,
    no_container_left,
    reachable,
    sam_local,
)
from stage import ORDER_HISTORY, PAYMENTS, Local

STARTED = time.monotonic()
LOGS = ROOT / "target/sam-local"

REQUESTS = [
    ("GET", "/health"),
    ("GET", "/health?deep=1"),
    ("GET", "/openapi.json"),
    ("GET", "/orders/99"),
    ("HEAD", "/orders/99"),
    ("GET", "/orders/no-such-order"),
    ("GET", "/orders?consumerId=1511300065921&since=2026-01-01T00:00:00Z&keywords=vindaloo"),
    ("GET", "/orders?consumerId=1511300065921&since=2026-01-01T00:00:00Z&pageSize=1"),
    ("GET", "/orders?pageSize=0&status=done"),
    ("POST", "/orders"),
    ("OPTIONS", "/orders/99"),
    ("GET", "/"),
    ("GET", "/assets/none.js"),
]

# A payment, in the order in which it happens. What is read comes before the charge, which the running system may settle any time.
STORY = ["create", "get", "change-amount", "request-charge", "charge", "relay", "relay-poison-row", "sweep", "reconcile"]

# The headers that servers and gateways add.
SERVERS_OWN = {"apigw-requestid", "connection", "content-length", "date", "server"}


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    for log in LOGS.iterdir():
        log.unlink()
    try:
        with contextlib.ExitStack() as stack:
            client = stack.enter_context(any_engine(LOGS))
            build_local()
            build_lambda()
            options = stack.enter_context(any_image(client))
            say(f"Docker {client.version()['Version']}, {IMAGE}")
            work = stack.enter_context(tempfile.TemporaryDirectory())
            ours = stack.enter_context(local_system({"DATA_DIR": f"{work}/ours", "AUTHORIZATION": "off"}))
            sams = stack.enter_context(local_system({"DATA_DIR": f"{work}/sams"}))
            endpoints = stack.enter_context(reachable(client, sams))
            stack.enter_context(no_container_left(client, endpoints))
            differences = check_samples(endpoints, options, ours)
            differences += check_requests(endpoints, options, ours)
            # Last, because each system pays for order 99 with an intent of its own, which its history then shows.
            differences += check_payments(endpoints, options, ours)
    except Unavailable as reason:
        print(f"skipped: {reason}")
        return
    say(f"{differences} differences")
    sys.exit(1 if differences else 0)


def say(text):
    print(f"== {time.monotonic() - STARTED:4.0f}s  {text}", flush=True)


def check_samples(endpoints, options, ours):
    """Runs each sample's function on both sides. Returns how many responses differ."""
    say("sam local invoke and start-lambda, the order history")
    # story.json is a list of messages, and no function's event.
    folder = ROOT / "events"
    paths = [*sorted(folder.glob("*.json")), *sorted(folder.glob("archive/*.json"))]
    samples = {path: function_of(path) for path in paths if path.name != "story.json"}

    differences = 0
    with start_lambda(ORDER_HISTORY, endpoints, options) as lambdas:
        # Events may come in any order, but the queries must find them all.
        for path in sorted(samples, key=lambda path: samples[path] == "query-api"):
            sam = lambdas if path != paths[0] else None
            theirs, own = invoke_both(ORDER_HISTORY, samples[path], (path, path), endpoints, options, ours, sam)
            differences += differ(f"{samples[path]}, {path.relative_to(ROOT)}", theirs, own)
            if succeeded(own) == path.name.startswith("failure-"):
                print("           UNEXPECTED: the sample's name says otherwise", flush=True)
                differences += 1
    return differences


def check_payments(endpoints, options, ours):
    """Runs the story of a payment on both sides, and then what fails. Returns how many responses differ."""
    say("sam local invoke and start-lambda, Payments")
    folder = ROOT / "events/payments"
    failures = sorted(path.stem for path in folder.glob("failure-*.json"))
    known = {path.stem for path in folder.glob("*.json")}
    if left := known - {*STORY, *failures}:
        print(f"           UNEXPECTED: STORY does not have {', '.join(sorted(left))}", flush=True)
    # Each side creates an intent of its own.
    intents = [SAMPLE_INTENT, SAMPLE_INTENT]
    differences = len(left)
    with start_lambda(PAYMENTS, endpoints, options) as lambdas:
        for sample in [*STORY, *failures]:
            path = folder / f"{sample}.json"
            sides = zip(intents, ["sam", "ours"], strict=True)
            events = [about_intent(path, intent, LOGS / f"{sample}.{side}.json") for intent, side in sides]
            sam = lambdas if sample != STORY[0] else None
            responses = invoke_both(PAYMENTS, payments_function_of(path), events, endpoints, options, ours, sam)
            if sample == "create":
                intents = [created(response) or SAMPLE_INTENT for response in responses]
            theirs, own = (without_chance(response, intent) for response, intent in zip(responses, intents, strict=True))
            differences += differ(f"{payments_function_of(path)}, events/payments/{path.name}", theirs, own)
            if has_failed(own) != sample.startswith("failure-"):
                print("           UNEXPECTED: the sample's name says otherwise", flush=True)
                differences += 1
    return differences


def payments_function_of(path):
    """The function of Payments that a sample is for, by where it comes from."""
    event = json.loads(path.read_text())
    if event.get("detail-type") == "Scheduled Event":
        return event["resources"][0].removeprefix("arn:aws:events:us-east-1:123456789012:rule/ftgo-payments-")
    sources = {record["eventSource"] for record in event.get("Records", [])}
    return "relay" if "aws:dynamodb" in sources else "charge" if sources else "payment-api"


def created(response):
    """The id of the intent in a response, if it has one."""
    with contextlib.suppress(TypeError, KeyError, ValueError):
        return json.loads(response["body"])["paymentIntentId"]
    return None


def without_chance(response, intent):
    """A response without what no two runs have in common: the intent's id, times, and the token that has an event's id."""
    text = json.dumps(response).replace(intent, "<intent>")
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)
    return json.loads(re.sub(r'("consistency-token": )"[\w-]+"', r'\1"<token>"', text))


def has_failed(response):
    if not isinstance(response, dict):
        # What a schedule starts answers nothing.
        return response is not None
    if "statusCode" in response:
        return response["statusCode"] >= 400
    return bool(response.get("batchItemFailures")) or "errorType" in response


def invoke_both(service, name, events, endpoints, options, ours, lambdas):
    """The responses of a function to its event, by sam and by our own host: by `sam local invoke` unless a `start-lambda` runs it."""
    sams, own = events
    function = Local(service).called(name)
    log = Path(sams).name.partition(".")[0]
    if lambdas is None:
        sam = sam_local(service, "invoke", function, "--event", sams, endpoints=endpoints, options=options)
        theirs = output_of(sam, f"{log}.sam.log", ENVIRONMENT)
    else:
        theirs = json.load(lambdas.invoke(FunctionName=function, Payload=Path(sams).read_bytes())["Payload"])
    local = [ROOT / "target/debug/local", "invoke", name, own]
    environment = {variable: str(port) for variable, port in ours.items()}
    return theirs, output_of(local, f"{log}.ours.log", environment)


def function_of(path):
    """The function that a sample is for: the one of its queue, or the one that answers requests."""
    records = json.loads(path.read_text()).get("Records")
    queue = records[0]["eventSourceARN"].rsplit("-", 1)[1] if records else None
    return {None: "query-api", "archive": "archiver"}.get(queue, queue)


def succeeded(response):
    return response == {"batchItemFailures": []} or (isinstance(response, dict) and response.get("statusCode") == 200)


def output_of(arguments, log, environment):
    """The JSON that a process printed."""
    log = LOGS / log
    with log.open("w") as stderr:
        environment = os.environ | environment
        done = subprocess.run(arguments, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=stderr, timeout=120)
    if done.returncode == 0:
        return json.loads(done.stdout)
    # sam answers with a function's error; our host ends with it.
    error = last_line(log).partition("the function failed: ")[2]
    return json.loads(error) if error else f"exit status {done.returncode}: {last_line(log)} (more in {log})"


def differ(what, theirs, ours):
    """Prints whether two responses are the same, and returns whether they differ."""
    if theirs == ours:
        text = json.dumps(theirs, ensure_ascii=False)
        print(f"same       {what}: {text if len(text) <= 120 else text[:119] + '…'}", flush=True)
    else:
        print(f"DIFFERENT  {what}\n  sam:  {json.dumps(theirs)}\n  ours: {json.dumps(ours)}", flush=True)
    return theirs != ours


def check_requests(endpoints, options, ours):
    """Asks sam's HTTP API and ours. Returns how many responses differ."""
    for template in [ROOT / "template.yaml", template_for_sam()]:
        with start_api(template, endpoints, options) as port:
            if port is not None:
                return sum(
                    differ(" ".join(request), ask(port, *request), ask(ours["HTTP_PORT"], *request)) for request in REQUESTS
                )
    return 1


def template_for_sam():
    """The template, with its routes in a form that `sam local start-api` can follow.

    The first function or API of a template decides whether sam looks for routes in AWS::Serverless or in AWS::ApiGatewayV2
    (samcli/lib/providers/api_provider.py); of an integration it understands neither an alias nor a name in !Sub.
    """
    resources = {"HttpApi": None} | copy.deepcopy(ORDER_HISTORY.template["Resources"])
    resources["QueryIntegration"]["Properties"]["IntegrationUri"] = {"Fn::GetAtt": ["QueryApi", "Arn"]}
    for name, resource in resources.items():
        if not name.startswith("Fn::ForEach") and resource["Type"] == "AWS::ApiGatewayV2::Route":
            resource["Properties"]["Target"] = "integrations/QueryIntegration"
    # A relative one begins at the template's folder.
    code = resources["QueryApi"]["Properties"]
    code["CodeUri"] = str(ROOT / code["CodeUri"])
    file = LOGS / "template.json"
    file.write_text(json.dumps(ORDER_HISTORY.template | {"Resources": resources}))
    return file


@contextlib.contextmanager
def start_api(template, endpoints, options):
    """The port of `sam local start-api`, or None if it does not start."""
    # sam has no JWT authorizer, so there are no claims.
    variables = json.loads((ROOT / "ops/sam-local.json").read_text())
    variables["Parameters"]["AUTHORIZATION"] = "off"
    (LOGS / "variables.json").write_text(json.dumps(variables))
    port = free_port()
    say(f"sam local start-api --template {template.relative_to(ROOT)}")
    arguments = ["--template", template, "--env-vars", LOGS / "variables.json"]
    log = LOGS / f"start-api.{template.name}.log"
    with started(ORDER_HISTORY, "start-api", *arguments, port=port, log=log, endpoints=endpoints, options=options) as is_ready:
        if not is_ready:
            print(last_line(log), flush=True)
        yield port if is_ready else None


@contextlib.contextmanager
def start_lambda(service, endpoints, options):
    """A client of `sam local start-lambda`."""
    port = free_port()
    variables = "sam-local-payments.json" if service is PAYMENTS else "sam-local.json"
    log = LOGS / f"start-lambda.{variables}.log"
    arguments = ["--env-vars", ROOT / "ops" / variables]
    with started(service, "start-lambda", *arguments, port=port, log=log, endpoints=endpoints, options=options) as is_ready:
        if not is_ready:
            sys.exit(f"sam local start-lambda does not start: {last_line(log)} (more in {log})")
        # An event that is sent twice would have another response the second time.
        config = Config(read_timeout=120, retries={"total_max_attempts": 1})
        yield boto3.client(
            "lambda",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name=ENVIRONMENT["AWS_REGION"],
            aws_access_key_id=ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
            config=config,
        )


@contextlib.contextmanager
def started(service, command, *arguments, port, log, endpoints, options):
    """Runs a server of `sam local` with containers that are kept, and says whether it listens."""
    arguments = [*arguments, "--language-extensions", "--port", str(port), "--warm-containers", "LAZY"]
    with log.open("w") as output:
        command = sam_local(service, command, *arguments, endpoints=endpoints, options=options)
        sam = subprocess.Popen(command, cwd=ROOT, env=os.environ | ENVIRONMENT, stdout=output, stderr=output)
    try:
        yield bool(await_ready(sam, lambda: listens(port)))
    finally:
        # By Ctrl-C it removes its containers.
        end(sam, by=signal.SIGINT)


def ask(port, method, path):
    """The status, headers and body of a response, without what is of the server or of this one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path)
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders() if name.lower() not in SERVERS_OWN}
    if response.status == 204:
        # The function gives none; sam's own is another than API Gateway's.
        headers.pop("content-type", None)
    body = response.read().decode()
    if "json" in headers.get("content-type", "") and body:
        body = json.loads(body)
        body.pop("requestId", None)
    return response.status, headers, body


if __name__ == "__main__":
    exit_on_signals()
    main()
