"""The archive and the rebuild on what `make e2e` has deployed, as an operator goes about it: with `make`, and with a look at what AWS has.

Events are published to the topic; the archive must have every one. A second stack is deployed beside the first, its table is rebuilt by
the state machine while one worker may not read its files, and must equal the first one's, item by item; so must the table that the
command line makes, and the one that DynamoDB imports. Then the API is switched to the second table and back under load.
"""

import base64
import datetime
import gzip
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from pathlib import Path

import boto3

ROOT = Path(__file__).resolve().parents[2]
LIVE, SECOND = "ftgo-order-history", "ftgo-order-history-v2"
# Longer than anything here takes, even on a busy machine.
PATIENCE = 180
ORDERS = 30

direct, front, logs = os.environ["AWS_ENDPOINT_URL"], os.environ["E2E_FRONT"], Path(os.environ["E2E_LOGS"])
# Queues and topic take what came over TLS.
sns, sqs = (boto3.client(service, endpoint_url=front) for service in ["sns", "sqs"])
cloudformation, dynamodb, iam, lambdas, logs_of_functions, s3, states = (
    boto3.client(service) for service in ["cloudformation", "dynamodb", "iam", "lambda", "logs", "s3", "stepfunctions"]
)


def main():
    orders = publish()
    bucket, files = await_archive(orders)
    spread(bucket, files)
    deploy_beside()
    rebuild_with_a_worker_that_fails(bucket)
    rebuild_with_the_command_line(bucket)
    import_files(bucket)
    rebuild_from_a_snapshot(bucket)
    switch_and_back(orders)


# The archive -----------------------------------------------------------------------------------------------------------------


def publish():
    """Publishes the story of some orders, shuffled a little, a part of it twice, and one event of a type that nobody knows."""
    say(f"publishes {ORDERS} orders")
    story = json.loads((ROOT / "events/story.json").read_text())
    consumer = f"consumer-{uuid.uuid4().hex[:8]}"
    numbers = itertools.count(1)
    orders = {}
    messages = []
    for minutes_ago in range(ORDERS):
        order_id = str(uuid.uuid4())
        created = int(time.time() * 1000) - minutes_ago * 60_000
        orders[order_id] = [
            of_order(each, created + n * 1000, next(numbers), order_id, consumer) for n, each in enumerate(story)
        ]
        messages += orders[order_id]
    unknown = {
        "headers": {"ID": f"{created:016x}-{next(numbers):016x}", "event-type": "com.example.SomethingNew"},
        "payload": "{}",
    }
    messages += [unknown, *messages[::7]]
    for start in range(0, len(messages), 10):
        entries = [
            {
                "Id": str(n),
                "Message": json.dumps(message),
                "MessageAttributes": {"event-type": {"DataType": "String", "StringValue": message["headers"]["event-type"]}},
            }
            for n, message in enumerate(messages[start : start + 10])
        ]
        assert not sns.publish_batch(TopicArn=os.environ["E2E_TOPIC_ARN"], PublishBatchRequestEntries=entries).get("Failed")
    return {"consumer": consumer, "ids": list(orders), "messages": messages}


def of_order(message, millis, number, order_id, consumer):
    """As message_of_order of crates/dev/sample-events."""
    payload, headers = json.loads(message["payload"]), dict(message["headers"])
    headers["ID"] = f"{millis:016x}-{number:016x}"
    headers["DATE"] = datetime.datetime.fromtimestamp(millis / 1000, datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
    if "orderId" in payload:
        payload["orderId"] = order_id
    else:
        headers["event-aggregate-id"] = headers["PARTITION_ID"] = order_id
    if "orderDetails" in payload:
        payload["orderDetails"]["consumerId"] = consumer
    return {"headers": headers, "payload": json.dumps(payload)}


def await_archive(orders):
    """Waits until every message is in the archive, the one of an unknown type included, each as it was published."""
    say("every message of the topic is in the archive")
    bucket = output(LIVE, "ArchiveBucket")
    published = Counter(message["headers"]["ID"] for message in orders["messages"])

    def archived():
        files = keys(bucket, "events/")
        for key in files:
            assert re.fullmatch(r"events/dt=\d{4}-\d\d-\d\d/hh=\d\d/[0-9TZ.-]+[0-9a-f-]{36}\.ndjson\.gz", key), key
        lines = [json.loads(line) for key in files for line in lines_of(bucket, key)]
        # A notification of SNS has the message as it was published.
        found = [json.loads(line["Message"]) if "Message" in line else line for line in lines]
        ids = Counter(message["headers"]["ID"] for message in found)
        return files if all(ids[event_id] >= number for event_id, number in published.items()) else None

    files = eventually("every message in the archive", archived)
    say(f"  {sum(published.values())} messages in {len(files)} files")
    # The live view is complete when the queues are empty.
    names = [name for name in sqs.list_queues(QueueNamePrefix=f"{LIVE}-")["QueueUrls"] if not name.endswith("-dlq")]
    members = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    def empty():
        sizes = [sqs.get_queue_attributes(QueueUrl=name, AttributeNames=members)["Attributes"] for name in names]
        return not any(int(size[member]) for size in sizes for member in members) or None

    eventually("the queues to be empty", empty)
    return bucket, files


def spread(bucket, files):
    """Copies each file to another day, too, as if events had come over several days, twice, and under other names: a batch is of one day."""
    days = [datetime.date.today() - datetime.timedelta(days=n) for n in range(1, 5)]
    for n, key in enumerate(files):
        copy = f"events/dt={days[n % len(days)]}/hh=12/copy-{n}.ndjson.gz"
        s3.copy_object(Bucket=bucket, Key=copy, CopySource={"Bucket": bucket, "Key": key})


# The rebuild -----------------------------------------------------------------------------------------------------------------


def deploy_beside():
    say("make deploy BESIDE=v2: a second stack on the same topic, without an archive of its own")
    make("deploy", "BESIDE=v2", endpoint=direct)
    assert output(f"{LIVE}-v2", "ArchiveBucket") == output(LIVE, "ArchiveBucket")
    assert output(f"{LIVE}-v2", "TopicArn") == output(LIVE, "TopicArn")
    assert not items(SECOND)
    said = make("status", "BESIDE=v2")
    assert "CREATE_COMPLETE" in said and "archiver" not in said, said


def rebuild_with_a_worker_that_fails(bucket):
    day = min(re.findall(r"dt=(\S+?)/", " ".join(keys(bucket, "events/"))))
    say(f"make rebuild, while no worker may read the files of {day}")
    forbid(f"arn:aws:s3:::{bucket}/events/dt={day}/*")
    said = make("rebuild", "BESIDE=v2", f"INTO={SECOND}", code=2)
    run = re.search(r"RUN=(\S+)", said)[1]
    assert "the rebuild ended with status FAILED. The data that it has written is correct and stays" in said, said
    assert re.search(r"batch \d+: \w+: .*(AccessDenied|403|not allowed|permission|denied)", said, re.IGNORECASE), said
    plan = json.loads(body(bucket, f"runs/{run}/plan.json"))
    assert plan["batches"] == 5, plan
    done = {key: modified(bucket, key) for key in keys(bucket, f"runs/{run}/results/")}
    assert len(done) == 4, done
    workers = attempts(run)
    assert sorted(workers.values()) == [0, 0, 0, 0, 4], workers

    say("make rebuild RUN=…, of which a worker fails three times more, until it may read them")
    going_on = threading.Thread(target=allow_after, args=(run, 3))
    going_on.start()
    said = make("rebuild", "BESIDE=v2", f"RUN={run}")
    going_on.join()
    assert f"run {run} is done" in said, said
    assert max(attempts(run).values()) == 3, attempts(run)
    # The other batches were not done again.
    assert {key: modified(bucket, key) for key in done} == done
    assert_equal(items(LIVE), items(SECOND))
    report = json.loads(body(bucket, f"runs/{run}/report.json"))
    assert report["batches"] == 5 and report["summary"]["events"] > 2 * ORDERS * 20, report

    say("a second start does nothing")
    results = {key: modified(bucket, key) for key in keys(bucket, f"runs/{run}/results/")}
    said = make("rebuild", "BESIDE=v2", f"RUN={run}")
    assert f"run {run} is done" in said, said
    assert {key: modified(bucket, key) for key in results} == results
    # A worker has a line for a batch that it has done: each was done once, in all three executions.
    assert sorted(rebuilt(run)) == ["00000", "00001", "00002", "00003", "00004"], rebuilt(run)
    make("rebuild-status", "BESIDE=v2", f"RUN={run}")


def forbid(resource):
    """Takes from the workers the permission to read these objects."""
    deny = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "s3:GetObject", "Resource": resource}]}
    iam.put_role_policy(RoleName=fold_role(), PolicyName="forbidden", PolicyDocument=json.dumps(deny))


def fold_role():
    found = cloudformation.describe_stack_resource(StackName=f"{LIVE}-v2", LogicalResourceId="RebuildFoldRole")
    return found["StackResourceDetail"]["PhysicalResourceId"]


def allow_after(run, failures):
    """Gives the permission back as soon as a worker of the run's newest execution has failed so often."""
    eventually(f"{failures} failures", lambda: failures in attempts(run, only_running=True).values() or None)
    iam.delete_role_policy(RoleName=fold_role(), PolicyName="forbidden")


def attempts(run, only_running=False):
    """How often each worker of the run's newest execution failed."""
    machine = output(f"{LIVE}-v2", "RebuildStateMachineArn")
    found = [each for each in states.list_executions(stateMachineArn=machine)["executions"] if each["name"].startswith(run)]
    newest = max(found, key=lambda execution: execution["startDate"])
    if only_running and newest["status"] != "RUNNING":
        return {}
    failures = {}
    for map_run in states.list_map_runs(executionArn=newest["executionArn"])["mapRuns"]:
        for child in states.list_executions(mapRunArn=map_run["mapRunArn"])["executions"]:
            events = states.get_execution_history(executionArn=child["executionArn"])["events"]
            failures[child["name"]] = sum(event["type"] == "TaskFailed" for event in events)
    return failures


def rebuild_with_the_command_line(bucket):
    say("the command line's table, and what verify says")
    table = f"{LIVE}-v3"
    ran = subprocess.run(
        [os.environ["REBUILD"], "run", "--from", f"s3://{bucket}", "--into", table, "--create"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert_equal(items(LIVE), items(table))
    for right in [SECOND, table, "archive"]:
        make("rebuild-verify", f"LEFT={LIVE}", f"RIGHT={right}")
    dynamodb.delete_item(TableName=table, Key={"orderId": {"S": sorted(items(table))[0]}})
    said = make("rebuild-verify", f"LEFT={LIVE}", f"RIGHT={table}", code=2)
    assert sorted(items(LIVE))[0] in said, said
    dynamodb.delete_table(TableName=table)


def import_files(bucket):
    say("files of the command line, imported by DynamoDB into a new table")
    table = f"{LIVE}-v4"
    ran = subprocess.run(
        [os.environ["REBUILD"], "run", "--from", f"s3://{bucket}", "--sink", "files", "--into", table],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    [request] = [key for key in keys(bucket, "runs/") if key.endswith("/import/import-table.json")]
    started = dynamodb.import_table(**json.loads(body(bucket, request)))["ImportTableDescription"]

    def imported():
        found = dynamodb.describe_import(ImportArn=started["ImportArn"])["ImportTableDescription"]
        return found if found["ImportStatus"] != "IN_PROGRESS" else None

    found = eventually("the import", imported)
    assert (found["ImportStatus"], found["ErrorCount"]) == ("COMPLETED", 0), found
    assert_equal(items(LIVE), items(table))
    dynamodb.delete_table(TableName=table)


def rebuild_from_a_snapshot(bucket):
    say("make snapshot, twice, and a rebuild of the first stack that begins with it")
    first = re.search(r"^snapshot +(\S+) is the latest now", make("snapshot"), re.MULTILINE)[1]
    said = make("snapshot", f"FROM_TABLE={LIVE}")
    second = re.search(r"^snapshot +(\S+) is the latest now", said, re.MULTILINE)[1]
    assert json.loads(body(bucket, f"snapshots/{second}/manifest.json"))["base"] == first
    table = f"{LIVE}-v5"
    described = dynamodb.describe_table(TableName=LIVE)["Table"]
    index = [
        {name: each[name] for name in ["IndexName", "KeySchema", "Projection"]} for each in described["GlobalSecondaryIndexes"]
    ]
    keys_of_table = {name: described[name] for name in ["AttributeDefinitions", "KeySchema"]}
    dynamodb.create_table(TableName=table, BillingMode="PAY_PER_REQUEST", GlobalSecondaryIndexes=index, **keys_of_table)
    assert "costs" in make("rebuild", f"INTO={table}", "DRY_RUN=1")
    assert not items(table)
    said = make("rebuild", f"INTO={table}")
    run = re.search(r"run (\S+) is done", said)[1]
    assert json.loads(body(bucket, f"runs/{run}/plan.json"))["snapshot"] == second
    assert_equal(items(LIVE), items(table))
    dynamodb.delete_table(TableName=table)


# The switch ------------------------------------------------------------------------------------------------------------------


def switch_and_back(orders):
    """Every response is 200 and has every order, whichever table it is from."""
    say("make switch, there and back, under load")
    for table, told in [
        (f"{LIVE}-v9", "this table does not exist"),
        ("orders", f"begin with {LIVE}-v"),
        ("", "TABLE is missing"),
    ]:
        assert told in make("switch", f"TABLE={table}", code=2)
    # Something that only the second table has tells which of them is read.
    marker = dict(dynamodb.get_item(TableName=SECOND, Key={"orderId": {"S": orders["ids"][0]}})["Item"])
    marker |= {"orderId": {"S": str(uuid.uuid4())}, "consumerId": {"S": "nobody"}}
    dynamodb.put_item(TableName=SECOND, Item=marker)
    path = f"/orders/{marker['orderId']['S']}"
    token = signed({"sub": "support", "scope": "orders:read-any"})
    assert get(path, token)[0] == 404
    load = Load(orders)
    with load:
        for served, status in [(SECOND, 200), ("", 404)]:
            said = make("switch", f"TABLE={served or 'own'}")
            assert f"the query function of {LIVE} reads {served or LIVE}" in said, said
            assert output(LIVE, "ServedTable") == (served or LIVE)
            publish_version()
            eventually("the query function to read it", lambda status=status: get(path, token)[0] == status or None)
            if served:
                assert f"the query function reads the table {SECOND} (ServedTable)" in make("status", "STACK=order-history")
            load.more(50)
    say(f"  {load.responses} responses, all of them 200 and complete")


def publish_version():
    """What SAM does: a new version of the query function, which the alias then names. MiniStack does not give SAM the parameters, so that to SAM
    the function has not changed; tests/template checks that it has."""
    name = f"{LIVE}-query-api"
    version = lambdas.publish_version(FunctionName=name)["Version"]
    lambdas.update_alias(FunctionName=name, Name="live", FunctionVersion=version)


class Load:
    """Clients that ask for orders and for a list, without a pause, until this ends."""

    def __init__(self, orders):
        self.orders, self.responses, self.bad, self.ends = orders, 0, [], threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(n,)) for n in range(2)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join()
        assert not self.bad, self.bad[:5]

    def more(self, number):
        """Waits for so many responses."""
        before = self.responses
        eventually(f"{number} responses", lambda: self.responses >= before + number or None)

    def ask(self, first):
        token = signed({"sub": self.orders["consumer"]})
        ids = itertools.cycle(self.orders["ids"])
        for n in itertools.count(first):
            if self.ends.is_set():
                return
            if n % 5:
                wanted = next(ids)
                status, body = get(f"/orders/{wanted}", token)
                is_good = status == 200 and body["orderId"] == wanted
            else:
                status, body = get(f"/orders?pageSize={ORDERS}", token)
                is_good = status == 200 and {order["orderId"] for order in body["orders"]} == {*self.orders["ids"]}
            self.responses += 1
            if not is_good:
                self.bad.append((status, body))


def get(path, token):
    request = urllib.request.Request(os.environ["E2E_API_URL"] + path, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def signed(claims):
    """A token of the issuer that the API trusts."""
    claims = {"iss": os.environ["E2E_ISSUER"], "aud": os.environ["E2E_AUDIENCE"], "exp": int(time.time()) + 3600} | claims
    parts = [{"alg": "RS256", "typ": "JWT", "kid": os.environ["E2E_KEY_ID"]}, claims]
    text = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    command = ["openssl", "dgst", "-sha256", "-sign", os.environ["E2E_SIGNING_KEY"], "-keyform", "DER"]
    signature = subprocess.run(command, input=text, capture_output=True, check=True).stdout
    return (text + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


# What AWS has ----------------------------------------------------------------------------------------------------------------


def make(*arguments, code=0, endpoint=None):
    """Runs make as somebody does who has credentials, and returns what it said."""
    environment = os.environ | {"AWS_ENDPOINT_URL": endpoint or front, "STAGE": "development"}
    command = ["make", "--no-print-directory", *arguments, f"ARCH={os.environ['E2E_ARCH']}"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with (logs / "rebuild.log").open("a") as log:
        log.write(f"$ {' '.join(arguments)}\n{ran.stdout}\n")
    assert ran.returncode == code, f"make {' '.join(arguments)} ended with {ran.returncode}: {ran.stdout[-3000:]}"
    return ran.stdout


def items(table):
    pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return {item["orderId"]["S"]: item for page in pages for item in page["Items"]}


def assert_equal(left, right):
    assert left, "there are no orders"
    assert left.keys() == right.keys(), f"orders differ: {sorted(left.keys() ^ right.keys())}"
    for order_id, item in left.items():
        assert normal(item) == normal(right[order_id]), f"{order_id}:\n{item}\n{right[order_id]}"


def normal(value):
    """A value whose sets have an order."""
    if isinstance(value, dict):
        return {name: sorted(item) if name in ["SS", "NS"] else normal(item) for name, item in value.items()}
    return [normal(item) for item in value] if isinstance(value, list) else value


def rebuilt(run):
    """The batches of a run that workers of the second stack say they have done."""
    pages = logs_of_functions.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{SECOND}-rebuild-Fold")
    texts = [event["message"] for page in pages for event in page["events"] if '"batch rebuilt"' in event["message"]]
    return [line["batch"] for line in map(json.loads, texts) if line["run"] == run]


def keys(bucket, prefix):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [found["Key"] for page in pages for found in page.get("Contents", [])]


def body(bucket, key):
    return s3.get_object(Bucket=bucket, Key=key)["Body"].read()


def modified(bucket, key):
    return s3.head_object(Bucket=bucket, Key=key)["LastModified"]


def lines_of(bucket, key):
    return gzip.decompress(body(bucket, key)).splitlines()


def output(stack, name):
    outputs = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
    return next(output["OutputValue"] for output in outputs if output["OutputKey"] == name)


def eventually(what, look):
    end = time.monotonic() + PATIENCE
    while (found := look()) is None:
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        time.sleep(0.2)
    return found


def say(text):
    print(f"           {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
