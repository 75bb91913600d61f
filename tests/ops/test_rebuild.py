"""`make rebuild` and related commands, on an emulator of AWS with a state machine that has the template's steps without their functions."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import boto3
import checks
import deploy
import rebuild
from emulator import emulator
from free_port import free_port
from local_system import ROOT, local_system
from stage import EVENT_TYPES, ORDER_HISTORY, Local, Stage
from terminal import amount, duration

STACK = "ftgo-order-history"
BUCKET = "ftgo-order-history-archive-of-a-test"
REPORT = {"batches": 2, "files": 3, "events": 1234, "views": 9, "quarantined": 0, "damaged": 0, "clean": True}


def definition(worker, report=REPORT):
    """A state machine whose steps return these responses at once; a worker can be any state."""
    steps = {
        "Plan": {"Type": "Pass", "Next": "Fold"},
        "Fold": {
            "Type": "Map",
            "ItemReader": {
                "Resource": "arn:aws:states:::s3:getObject",
                "ReaderConfig": {"InputType": "JSONL"},
                "Parameters": {"Bucket": BUCKET, "Key": "batches.jsonl"},
            },
            "ItemSelector": {"run.$": "$.run", "batch.$": "$$.Map.Item.Value"},
            "ToleratedFailurePercentage": 0,
            "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED"}, "StartAt": "Worker", "States": {"Worker": worker}},
            "ResultPath": None,
            "Next": "Report",
        },
        "Report": {"Type": "Pass", "Result": report, "End": True},
    }
    return json.dumps({"StartAt": "Plan", "States": steps})


WORKS = {"Type": "Pass", "End": True}
FAILS = {"Type": "Fail", "Error": "Failed", "Cause": json.dumps({"errorMessage": "the table is gone\x1b[2J"})}
LASTS = {"Type": "Wait", "Seconds": 20, "End": True}


class OnAws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.aws = cls.enterClassContext(emulator())
        s3 = cls.aws.client("s3")
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        s3.put_object(Bucket=BUCKET, Key="batches.jsonl", Body=b'{"id": "00000"}\n{"id": "00001"}\n')
        cls.machine = "arn:aws:states:eu-west-1:000000000000:stateMachine:ftgo-order-history-rebuild"
        body = {
            "Parameters": {
                "Prefix": {"Type": "String", "Default": "ftgo-order-history"},
                "RebuildConcurrency": {"Type": "String", "Default": "10"},
            },
            "Resources": {
                "Rebuild": {
                    "Type": "AWS::StepFunctions::StateMachine",
                    "Properties": {
                        "StateMachineName": "ftgo-order-history-rebuild",
                        "RoleArn": "arn:aws:iam::000000000000:role/x",
                        "DefinitionString": definition(WORKS),
                    },
                }
            },
            "Outputs": {
                "RebuildStateMachineArn": {"Value": {"Ref": "Rebuild"}},
                "ArchiveBucket": {"Value": BUCKET},
                "TopicArn": {"Value": "arn:aws:sns:eu-west-1:000000000000:domain-events"},
                "HttpApiId": {"Value": "a1b2c3d4e5"},
            },
        }
        cloudformation = cls.aws.client("cloudformation")
        cloudformation.create_stack(StackName=STACK, TemplateBody=json.dumps(body))
        cloudformation.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
        cls.s3, cls.states = s3, cls.aws.client("stepfunctions")

    def set_up(self, worker, report=REPORT):
        self.states.update_state_machine(stateMachineArn=self.machine, definition=definition(worker, report))

    def started(self, command="rebuild", **variables):
        environment = os.environ | self.aws.environment | {"STAGE": "development", "PYTHONPATH": ""} | variables
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        program = [sys.executable, ROOT / "ops/rebuild.py", command]
        return subprocess.Popen(program, env=environment, start_new_session=True, **pipes)

    def run_command(self, command="rebuild", code=0, **variables):
        with self.started(command, **variables) as running:
            out, err = running.communicate(timeout=60)
        self.assertEqual(code, running.returncode, out + err)
        return out, err

    def newest(self):
        found = self.states.list_executions(stateMachineArn=self.machine)["executions"]
        newest = max(found, key=lambda execution: execution["startDate"])
        return self.states.describe_execution(executionArn=newest["executionArn"])

    def put_run(self, run, results):
        plan = {"bytes": 1_500_000, "batches": 2}
        self.s3.put_object(Bucket=BUCKET, Key=f"runs/{run}/plan.json", Body=json.dumps(plan).encode())
        for batch, result in results.items():
            self.s3.put_object(Bucket=BUCKET, Key=f"runs/{run}/results/{batch}.json", Body=json.dumps(result).encode())

    def test_a_rebuild_is_started_followed_and_reported(self):
        self.set_up(WORKS)
        variables = {"TYPES": "OrderCreated, OrderRevised", "SINCE": "2026-03-01T00:00:00Z", "RATE": "1000"}
        out, err = self.run_command(INTO="ftgo-order-history-v2", **variables)
        execution = self.newest()
        request = json.loads(execution["input"])
        run = request.pop("run")
        self.assertEqual(execution["name"], run)
        expected = {"into": "ftgo-order-history-v2", "types": ["OrderCreated", "OrderRevised"], "since": "2026-03-01T00:00:00Z"}
        # Each worker gets a share of the rate.
        self.assertEqual(expected | {"rate": 100}, request)
        self.assertIn(f"run {run} is done; its folder is s3://{BUCKET}/runs/{run}/", out)
        self.assertRegex(out, r"events +1,234\n")
        lines = [json.loads(line) for line in err.splitlines()]
        self.assertEqual("progress", lines[-1]["message"])
        self.assertEqual((2, 2, 0), tuple(lines[-1][name] for name in ["batches", "of_batches", "failed"]))

    def test_unreadable_lines_give_their_own_exit_code(self):
        for more, code in [({"quarantined": 1, "clean": False}, 3), ({"damaged": 1, "quarantined": 1, "clean": False}, 4)]:
            self.set_up(WORKS, REPORT | more)
            self.run_command(INTO="ftgo-order-history", code=code)

    def test_a_failed_worker_is_reported_with_its_reason_and_how_to_continue(self):
        self.set_up(FAILS)
        out, err = self.run_command(INTO="ftgo-order-history-v2", code=1)
        run = json.loads(self.newest()["input"])["run"]
        self.assertIn("the rebuild ended with status FAILED. The data that it has written is correct and stays", out)
        self.assertIn("batch 00000: Failed: the table is gone\\x1b[2J", out)
        self.assertIn(f"make rebuild STAGE=development STACK=order-history RUN={run}", out)
        self.assertEqual(2, json.loads(err.splitlines()[-1])["failed"])
        # The run continues.
        self.set_up(WORKS)
        out, _ = self.run_command(RUN=run)
        self.assertIn(f"run {run} is done", out)
        again = self.newest()
        self.assertRegex(again["name"], rf"^{run}-again-\d+T\d+Z$")
        self.assertEqual({"run": run}, json.loads(again["input"]))

    def test_an_interrupted_command_leaves_the_run_and_can_follow_it_again(self):
        self.set_up(LASTS)
        watching = self.started(INTO="ftgo-order-history-v2")
        # The command has polled once.
        for line in watching.stderr:
            if "progress" in line:
                break
        os.kill(watching.pid, signal.SIGINT)
        out, _ = watching.communicate(timeout=60)
        self.assertEqual(130, watching.returncode)
        execution = self.newest()
        self.assertEqual("RUNNING", execution["status"])
        self.assertIn(f"watch it again: make rebuild STAGE=development STACK=order-history RUN={execution['name']}\n", out)
        self.assertIn(f"stop it:        aws stepfunctions stop-execution --execution-arn {execution['executionArn']}\n", out)
        again = self.started(RUN=execution["name"])
        self.assertIn(execution["executionArn"], json.loads(next(again.stderr))["message"])
        self.states.stop_execution(executionArn=execution["executionArn"])
        out, _ = again.communicate(timeout=60)
        self.assertIn("the rebuild ended with status ABORTED. The data that it has written is correct and stays", out)

    def test_only_tables_that_the_workers_may_write_are_accepted(self):
        for variables, expected in [
            ({"INTO": "orders"}, "INTO=orders: the workers of this stack can write only to ftgo-order-history and to tables"),
            ({"INTO": "ftgo-order-history-idempotency"}, "begin with ftgo-order-history-v"),
            ({}, "INTO is missing"),
            ({"INTO": "ftgo-order-history", "RUN": "run-1"}, "set either INTO or RUN"),
            ({"INTO": "ftgo-order-history", "RATE": "fast"}, "RATE=fast: must be a whole number, at least 1"),
            ({"INTO": "ftgo-order-history", "RATE": "5"}, "RATE=5: must be at least 10, 1 for each worker"),
            ({"INTO": "ftgo-order-history", "STACK": "payments"}, "only order-history has a view to rebuild"),
            ({"INTO": "ftgo-order-history", "STAGE": "staging"}, "is not deployed"),
        ]:
            with self.subTest(expected):
                _, err = self.run_command(code=1, **variables)
                self.assertIn(expected, err)

    def test_progress_is_bytes_done_of_bytes_listed(self):
        done = {"bytes": 500_000, "summary": {"events": 5000, "quarantined": {"not_json": 2}}, "stored": {"views": 700}}
        self.put_run("run-1", {"00000": done})
        with mock.patch.dict(os.environ, self.aws.environment):
            where = rebuild.AwsRebuild(Stage("development", ORDER_HISTORY))
            execution = where.execute("run-1", "run-1", {})
            progress = rebuild.Progress(where, "run-1", execution)
            progress.look()
            text, members = progress.shown()
            self.assertTrue(text.startswith(" 33 % of 1.5 MB  0 events/s  700 orders  2 quarantined  ETA ?"), text)
            # Earlier work counts for the percentage, but not for the speed.
            self.put_run("run-1", {"00001": {"bytes": 1_000_000, "summary": {"events": 9000}}})
            progress.begun = time.monotonic() - 10
            progress.look()
            text, members = progress.shown()
            self.assertEqual((100, 14000, 1_500_000), (members["percent"], members["events"], members["bytes"]))
            self.assertAlmostEqual(900, members["events_per_second"], delta=20)

    def test_reading_commands_are_passed_to_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "rebuild")
            program.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
            program.chmod(0o755)
            for command, variables, arguments in [
                (
                    "rebuild",
                    {"DRY_RUN": "1", "INTO": "t", "ORDERS": "1,2", "RATE": "9"},
                    f"plan --from s3://{BUCKET} --into t --orders 1,2 --rate 9",
                ),
                ("verify", {"LEFT": "a", "RIGHT": "b", "SAMPLE": "1%"}, "verify --left a --right b --sample 1%"),
                ("verify", {"LEFT": "a", "RIGHT": "archive"}, f"verify --left a --right s3://{BUCKET}"),
                ("snapshot", {}, f"snapshot --from s3://{BUCKET}"),
                ("snapshot", {"FROM_TABLE": "t"}, f"snapshot --from s3://{BUCKET} --from-table t"),
                ("status", {"RUN": "x"}, f"status x --from s3://{BUCKET}"),
            ]:
                with self.subTest(arguments):
                    out, _ = self.run_command(command, code=3, REBUILD=str(program), **variables)
                    self.assertEqual(arguments, out.strip())

    def test_a_second_stack_gets_the_first_ones_parameters_topic_and_archive(self):
        with mock.patch.dict(os.environ, self.aws.environment):
            second = Stage("development", ORDER_HISTORY, {"LogLevel": "DEBUG"}, "v2")
            self.assertEqual(f"{STACK}-v2", second.stack_name)
            self.assertEqual(["--stack-name", f"{STACK}-v2", "--s3-prefix", f"{STACK}-v2"], second.options)
            taken = deploy.taken_over(second, "deploy", [second])
            self.assertEqual("ftgo-order-history-v2", taken["Prefix"])
            self.assertEqual("arn:aws:sns:eu-west-1:000000000000:domain-events", taken["DomainEventsTopicArn"])
            self.assertEqual(("false", BUCKET), (taken["Archive"], taken["ArchiveBucket"]))
            self.assertEqual("10", taken["RebuildConcurrency"])
            # It has its own API, without the routes of Payments.
            self.assertNotIn("FrontApiId", taken)
            self.assertEqual("ftgo-order-history-v2", second.prefix(None))
            self.assertNotIn("archiver", second.queues({"Parameters": []}))
            # A second stack needs a first one.
            with self.assertRaisesRegex(SystemExit, "Deploy it before a stack beside it: make deploy STAGE=staging"):
                deploy.taken_over(Stage("staging", ORDER_HISTORY, {}, "v2"), "deploy", [])

    def test_a_bucket_of_an_earlier_deployment_is_reported(self):
        values = {"Prefix": "left", "Archive": "true", "ArchiveBucket": ""}
        with mock.patch.dict(os.environ, self.aws.environment):
            self.assertIsNone(checks.bucket_problem(values))
            name = "left-000000000000-eu-west-1"
            self.s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
            self.assertIn(f"Deploy with ArchiveBucket={name} to continue with it", checks.bucket_problem(values))
            self.assertIsNone(checks.bucket_problem(values | {"ArchiveBucket": name}))
            self.assertIsNone(checks.bucket_problem(values | {"Archive": "false"}))


class OnThisMachine(unittest.TestCase):
    def test_a_table_is_planned_rebuilt_verified_and_snapshotted_from_the_archive_of_make_run(self):
        system = self.enterContext(local_system())
        keys = {"region_name": "us-east-1", "aws_access_key_id": "local", "aws_secret_access_key": "local"}
        sns, dynamodb = (
            boto3.client(service, endpoint_url=f"http://127.0.0.1:{system.environment[port]}", **keys)
            for service, port in [("sns", "SNS_PORT"), ("dynamodb", "DYNAMODB_PORT")]
        )
        for message in json.loads((ROOT / "events/story.json").read_text()):
            event_type = {"event-type": {"DataType": "String", "StringValue": message["headers"]["event-type"]}}
            topic = "arn:aws:sns:us-east-1:000000000000:domain-events"
            sns.publish(TopicArn=topic, Message=json.dumps(message), MessageAttributes=event_type)
        system.until(lambda: not any(system.size(queue) for queue in [*EVENT_TYPES, "archive"]))
        into = "INTO=ftgo-order-history-v2"

        def said(*arguments, code=0):
            output, ended = system.make(*arguments)
            self.assertEqual(code, ended, output.decode())
            return output.decode()

        self.assertRegex(said("rebuild", into, "DRY_RUN=1"), r"\nevents +27\n")
        self.assertNotIn("ftgo-order-history-v2", dynamodb.list_tables()["TableNames"])
        done = said("rebuild", into)
        [run] = re.findall(r"^run +(\S+) is done", done, re.MULTILINE)
        self.assertRegex(said("rebuild-status", f"RUN={run}"), r"\nstate +finished\n")
        self.assertIn("nothing is left to do", said("rebuild", f"RUN={run}"))
        left, right = "LEFT=ftgo-order-history", "RIGHT=ftgo-order-history-v2"
        self.assertRegex(said("rebuild-verify", left, right), r"\nverdict +equal\n")
        self.assertIn("is the latest now", said("snapshot"))
        self.assertRegex(said("rebuild", "INTO=ftgo-order-history-v3"), r"\nfrom snapshot +1 views?\n")
        for name in ["v2", "v3"]:
            # An order that exists in only one table is reported.
            dynamodb.put_item(TableName=f"ftgo-order-history-{name}", Item={"orderId": {"S": f"only-in-{name}"}})
        self.assertIn("only-in-v2", said("rebuild-verify", left, right, code=2))
        self.assertIn("archiver ", said("status"))


class Chosen(unittest.TestCase):
    def test_the_first_stack_may_read_the_tables_of_the_second(self):
        for name, is_good in [("v2", True), ("v2-blue", True), ("2", False), ("V2", False), ("", True)]:
            with self.subTest(name), mock.patch.dict(os.environ, {"BESIDE": name, "STAGE": "staging", "STACK": "all"}):
                if is_good:
                    stages = rebuild.chosen_stages()
                    self.assertEqual(1 if name else 2, len(stages))
                    self.assertEqual(f"ftgo-order-history-staging{name and '-'}{name}", stages[0].stack_name)
                else:
                    self.assertRaises(SystemExit, rebuild.chosen_stages)

    def test_payments_has_no_second_stack(self):
        with mock.patch.dict(os.environ, {"BESIDE": "v2", "STACK": "payments"}):
            self.assertRaises(SystemExit, rebuild.chosen_stages)

    def test_this_machine_has_no_second_stack(self):
        with mock.patch.dict(os.environ, {"BESIDE": "v2", "STAGE": "local"}):
            self.assertRaises(SystemExit, rebuild.chosen_stages)
        self.assertIn("archiver", Local(ORDER_HISTORY).queues({}))

    def test_without_the_local_system_the_error_says_how_to_start_it(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"STAGE": "local", "DATA_DIR": folder, "DYNAMODB_PORT": str(free_port()), "LEFT": "a", "RIGHT": "b"}
            with mock.patch.dict(os.environ, environment), self.assertRaises(SystemExit) as ended:
                rebuild.main("verify")
        self.assertIn("`make run` is not running", str(ended.exception.code))

    def test_a_list_is_in_the_variable_or_in_a_file(self):
        self.assertEqual(["1", "2"], rebuild.listed("1, 2,"))
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("1\n2\n\n")
            file.flush()
            self.assertEqual(["1", "2"], rebuild.listed(f"@{file.name}"))

    def test_numbers_are_shown_as_the_command_line_shows_them(self):
        self.assertEqual(["40 s", "2 min 5 s", "2 h 5 min", "1 d 0 h"], [duration(n) for n in [40, 125, 7500, 86400]])
        self.assertEqual(["999 bytes", "1.5 MB", "2.0 TB"], [amount(n) for n in [999, 1_500_000, 2e12]])


if __name__ == "__main__":
    unittest.main()
