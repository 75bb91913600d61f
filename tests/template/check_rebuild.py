"""Checks of template.yaml: the archive, the rebuild, and the served table."""

import json
import re
import unittest

from promises import ALARM_TOPIC, GRADUAL, KEY, allowed, delivered, encryption, metrics, named, properties
from template import ORDER_HISTORY, ROOT

PREFIX = "ftgo-order-history"
STEPS = ["Plan", "Fold", "Report"]
INDEX = "ftgo-order-history-by-consumer-id-and-creation-time"
# Every table that a rebuild may write and the query function may read.
TABLES = {"<OrderHistory.Arn>", f"arn:aws:dynamodb:eu-west-1:123456789012:table/{PREFIX}-v*"}

# Lambda's own limits for a queue.
# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
MOST_MESSAGES = 10_000
LONGEST_WINDOW = 300


def machine(stack):
    """The state machine's definition with its substitutions."""
    (found,) = stack.of_type("AWS::StepFunctions::StateMachine").values()
    text = found["DefinitionString"]
    for name, value in found["DefinitionSubstitutions"].items():
        text = text.replace(f"${{{name}}}", str(value))
    return json.loads(text)


def rule(bucket, name):
    (found,) = [rule for rule in bucket["LifecycleConfiguration"]["Rules"] if rule["Id"] == name]
    return found


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.development = ORDER_HISTORY.with_parameters()
        cls.production = ORDER_HISTORY.with_parameters(Stage="production", AlarmTopicArn=ALARM_TOPIC, Rollout=GRADUAL)
        cls.everything = ORDER_HISTORY.with_parameters(**ORDER_HISTORY.every_option)
        cls.second = ORDER_HISTORY.with_parameters(
            Prefix=f"{PREFIX}-v2",
            DomainEventsTopicArn="arn:aws:sns:eu-west-1:123456789012:domain-events",
            Archive="false",
            ArchiveBucket="first-123456789012-eu-west-1",
            AlarmTopicArn=ALARM_TOPIC,
            Rollout=GRADUAL,
        )

    def test_every_message_of_the_topic_is_archived_also_unknown_types(self):
        for event_type in ["OrderCreated", "SomethingNew", ""]:
            self.assertIn("ArchiveQueue", delivered(self.development, event_type))
        subscription = self.development.of_type("AWS::SNS::Subscription")["ArchiveSubscription"]
        self.assertEqual([], [name for name in subscription if name.startswith("FilterPolicy")])
        self.assertEqual("<ArchiveDlq.Arn>", subscription["RedrivePolicy"]["deadLetterTargetArn"])

    def test_the_archiver_has_the_largest_batch_that_lambda_allows(self):
        for window in ORDER_HISTORY.source["Parameters"]["ArchiveWindow"]["AllowedValues"]:
            stack = ORDER_HISTORY.with_parameters(ArchiveWindow=window, AlarmTopicArn=ALARM_TOPIC)
            mapping = stack.of_type("AWS::Lambda::EventSourceMapping")["ArchiverQueue"]
            queue = stack.of_type("AWS::SQS::Queue")["ArchiveQueue"]
            with self.subTest(window):
                self.assertEqual(MOST_MESSAGES, mapping["BatchSize"])
                # For more than ten messages Lambda requires a window.
                self.assertTrue(1 <= int(window) <= LONGEST_WINDOW)
                self.assertEqual(window, mapping["MaximumBatchingWindowInSeconds"])
                self.assertEqual(["ReportBatchItemFailures"], mapping["FunctionResponseTypes"])
                self.assertEqual("<ArchiverAliaslive>", mapping["FunctionName"])
                timeout = stack.of_type("AWS::Lambda::Function")["Archiver"]["Timeout"]
                self.assertGreaterEqual(queue["VisibilityTimeout"], 6 * timeout + int(window))
                behind = stack.of_type("AWS::CloudWatch::Alarm")["BehindArchive"]["Threshold"]
                self.assertGreater(behind, 3 * queue["VisibilityTimeout"])
                # Long before the queue's retention ends.
                self.assertLess(behind, queue["MessageRetentionPeriod"] / 100)

    def test_the_bucket_is_private_encrypted_versioned_and_kept_in_production(self):
        for stack, policy in [(self.development, "Delete"), (self.production, "Retain"), (self.everything, "Retain")]:
            ((name, bucket),) = properties(stack, "AWS::S3::Bucket")
            self.assertEqual(policy, stack.resources[name]["DeletionPolicy"])
            self.assertEqual(policy, stack.resources[name]["UpdateReplacePolicy"])
            self.assertEqual({True}, set(bucket["PublicAccessBlockConfiguration"].values()))
            self.assertEqual(4, len(bucket["PublicAccessBlockConfiguration"]))
            self.assertEqual([{"ObjectOwnership": "BucketOwnerEnforced"}], bucket["OwnershipControls"]["Rules"])
            self.assertEqual("Enabled", bucket["VersioningConfiguration"]["Status"])
            ((_, policy),) = properties(stack, "AWS::S3::BucketPolicy")
            (deny,) = policy["PolicyDocument"]["Statement"]
            self.assertEqual(("Deny", "*", "s3:*"), (deny["Effect"], deny["Principal"], deny["Action"]))
            self.assertEqual({"Bool": {"aws:SecureTransport": "false"}}, deny["Condition"])
            self.assertEqual(["<EventsBucket.Arn>", "<EventsBucket.Arn>/*"], deny["Resource"])
        (bucket,) = self.development.of_type("AWS::S3::Bucket").values()
        self.assertEqual({"SSEAlgorithm": "AES256"}, encryption(bucket))
        (bucket,) = self.everything.of_type("AWS::S3::Bucket").values()
        self.assertEqual({"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}, encryption(bucket))

    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
    def test_with_the_longest_prefix_the_buckets_name_is_short_enough(self):
        bucket = ORDER_HISTORY.with_parameters(**{"Prefix": "x" * 35, "AWS::Region": "ap-southeast-1"})
        (bucket,) = bucket.of_type("AWS::S3::Bucket").values()
        self.assertEqual(63, len(bucket["BucketName"]))

    def test_events_and_snapshots_are_never_deleted(self):
        (bucket,) = self.development.of_type("AWS::S3::Bucket").values()
        self.assertFalse([rule for rule in bucket["LifecycleConfiguration"]["Rules"] if "Transitions" in rule])
        (bucket,) = self.everything.of_type("AWS::S3::Bucket").values()
        (transition,) = rule(bucket, "events-get-cold")["Transitions"]
        # A storage class that needs no restore.
        self.assertEqual(("GLACIER_IR", 90), (transition["StorageClass"], int(transition["TransitionInDays"])))
        for each in bucket["LifecycleConfiguration"]["Rules"]:
            self.assertEqual("Enabled", each["Status"])
            if "ExpirationInDays" in each:
                with self.subTest(each["Id"]):
                    self.assertEqual("runs/", each["Prefix"])
        old = rule(bucket, "old-versions-expire")
        self.assertNotIn("Prefix", old)
        self.assertGreaterEqual(old["NoncurrentVersionExpiration"]["NoncurrentDays"], 30)
        self.assertIn("AbortIncompleteMultipartUpload", old)

    def test_the_archiver_may_only_add_files_of_events(self):
        may = allowed(self.development, "ArchiverRole")
        for action in ["s3:PutObject", "s3:GetObject"]:
            self.assertEqual({"<EventsBucket.Arn>/events/*"}, may.pop(action))
        self.assertEqual([], [action for action in may if action.split(":")[0] not in ["sqs", "logs"]])
        for action in [action for action in may if action.startswith("sqs:")]:
            self.assertEqual({"<ArchiveQueue.Arn>"}, may[action])

    def test_an_alarm_fires_if_events_are_published_and_none_is_archived(self):
        alarm = self.production.of_type("AWS::CloudWatch::Alarm")["NothingArchived"]
        published, archived = metrics(alarm)
        dimensions = [{"Name": "TopicName", "Value": "<DomainEvents.TopicName>"}]
        self.assertEqual(("AWS/SNS", dimensions), (published["Namespace"], published["Dimensions"]))
        dimensions = [{"Name": "Function", "Value": "archiver"}]
        self.assertEqual(
            (PREFIX, "Archived", dimensions), tuple(archived[n] for n in ["Namespace", "MetricName", "Dimensions"])
        )
        # The archiver's name of the metric.
        archiver = (ROOT / "crates/order-history/archive/src/archiver.rs").read_text()
        self.assertIn('.count("Archived", ', archiver)
        self.assertIn('&[("Function", "archiver")]', archiver)
        (shown,) = [each for each in alarm["Metrics"] if each.get("ReturnData", True)]
        self.assertIn("published", shown["Expression"])
        self.assertIn("archived", shown["Expression"])
        # If the two cannot be compared, the alarm would never fire.
        elsewhere = ORDER_HISTORY.with_parameters(TopicMetrics="false", AlarmTopicArn=ALARM_TOPIC)
        self.assertNotIn("NothingArchived", elsewhere.of_type("AWS::CloudWatch::Alarm"))
        topic = "arn:aws:sns:eu-west-1:123456789012:theirs"
        stack = ORDER_HISTORY.with_parameters(DomainEventsTopicArn=topic, AlarmTopicArn=ALARM_TOPIC)
        published, _ = metrics(stack.of_type("AWS::CloudWatch::Alarm")["NothingArchived"])
        self.assertEqual([{"Name": "TopicName", "Value": "theirs"}], published["Dimensions"])

    def test_a_second_stack_on_the_topic_reads_the_archive_of_the_first(self):
        self.assertEqual({}, self.second.of_type("AWS::S3::Bucket"))
        self.assertNotIn("Archiver", self.second.of_type("AWS::Lambda::Function"))
        self.assertFalse([name for name in self.second.resources if "Archive" in name])
        self.assertEqual("first-123456789012-eu-west-1", self.second.outputs["ArchiveBucket"])
        for step in STEPS:
            with self.subTest(step):
                function = self.second.of_type("AWS::Lambda::Function")[f"Rebuild{step}"]
                self.assertEqual("first-123456789012-eu-west-1", function["Environment"]["Variables"]["ARCHIVE_BUCKET"])
                found = allowed(self.second, f"Rebuild{step}Role")["s3:GetObject"]
                self.assertEqual({"arn:aws:s3:::first-123456789012-eu-west-1/*"}, found)

    def test_the_names_of_two_stacks_differ(self):
        named_by = ["BucketName", "QueueName", "TableName", "FunctionName", "AlarmName", "StateMachineName", "LogGroupName"]
        first, second = (
            {
                (resource["Type"], resource["Properties"][name])
                for resource in stack.resources.values()
                for name in named_by
                # Otherwise it is a reference to a resource of the stack.
                if not resource.get("Properties", {}).get(name, "<").startswith("<")
            }
            for stack in [self.production, self.second]
        )
        self.assertGreater(len(second), 100)
        self.assertEqual(set(), first & second)

    def test_without_an_archive_there_is_no_rebuild(self):
        stack = ORDER_HISTORY.with_parameters(Archive="false", AlarmTopicArn=ALARM_TOPIC)
        self.assertFalse([name for name in stack.resources if any(word in name for word in ["Archive", "Rebuild", "Bucket"])])
        self.assertNotIn("ArchiveBucket", stack.outputs)

    def test_an_existing_archive_is_used(self):
        stack = ORDER_HISTORY.with_parameters(ArchiveBucket="theirs")
        self.assertEqual({}, stack.of_type("AWS::S3::Bucket"))
        self.assertEqual({"arn:aws:s3:::theirs/events/*"}, allowed(stack, "ArchiverRole")["s3:PutObject"])
        self.assertEqual(
            "theirs", stack.of_type("AWS::Lambda::Function")["Archiver"]["Environment"]["Variables"]["ARCHIVE_BUCKET"]
        )

    def test_s3_uses_awss_endpoint_by_default(self):
        there = ORDER_HISTORY.with_parameters(S3Endpoint="https://s3.example")
        for stack, endpoint in [(self.development, None), (there, "https://s3.example")]:
            for name in ["Archiver", *(f"Rebuild{step}" for step in STEPS)]:
                with self.subTest(name):
                    variables = stack.of_type("AWS::Lambda::Function")[name]["Environment"]["Variables"]
                    self.assertEqual(endpoint, variables.get("AWS_ENDPOINT_URL_S3"))


class Rebuild(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.development = ORDER_HISTORY.with_parameters()
        cls.everything = ORDER_HISTORY.with_parameters(**ORDER_HISTORY.every_option)

    def test_each_batch_of_the_plan_is_its_own_task(self):
        for stack, concurrency in [(self.development, 10), (self.everything, 1000)]:
            definition = machine(stack)
            states = definition["States"]
            self.assertEqual("Plan", definition["StartAt"])
            fold = states["Fold"]
            self.assertEqual(concurrency, fold["MaxConcurrency"])
            self.assertEqual(0, fold["ToleratedFailurePercentage"])
            self.assertEqual("DISTRIBUTED", fold["ItemProcessor"]["ProcessorConfig"]["Mode"])
            self.assertEqual("arn:aws:states:::s3:getObject", fold["ItemReader"]["Resource"])
            self.assertEqual({"InputType": "JSONL"}, fold["ItemReader"]["ReaderConfig"])
            # The input and output of crates/order-history/rebuild/src/worker.rs.
            self.assertEqual({"run.$": "$.run", "batch.$": "$$.Map.Item.Value"}, fold["ItemSelector"])
            self.assertEqual({"Bucket.$": "$.bucket", "Key.$": "$.key"}, fold["ItemReader"]["Parameters"])
            # Step Functions does not map over an empty file.
            (nothing,) = states["IsThereAnything"]["Choices"]
            self.assertEqual({"Variable": "$.batches", "NumericEquals": 0, "Next": "Report"}, nothing)
            # Emulators ignore these settings, and the plan does all the work.
            for absent in ["ItemBatcher", "ResultWriter", "QueryLanguage"]:
                self.assertNotIn(absent, json.dumps(definition))
            # The outputs of all workers together are limited to 256 KiB.
            self.assertIsNone(fold["ResultPath"])
            self.assertEqual({}, fold["ItemProcessor"]["States"]["FoldBatch"]["ResultSelector"])
            self.assertEqual("Report", fold["Next"])
            self.assertTrue(states["Report"]["End"])

    def test_a_failed_step_is_retried_with_growing_pauses(self):
        states = machine(self.development)["States"]
        tasks = [states["Plan"], states["Fold"]["ItemProcessor"]["States"]["FoldBatch"], states["Report"]]
        for task in tasks:
            for retry in task["Retry"]:
                if retry["MaxAttempts"] == 0:
                    # An unreadable request would fail again.
                    self.assertEqual(["Invalid"], retry["ErrorEquals"])
                    continue
                self.assertGreaterEqual(retry["MaxAttempts"], 3)
                self.assertGreater(retry["BackoffRate"], 1)
                self.assertEqual("FULL", retry["JitterStrategy"])
            # It must be the last one, alone. https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
            *first, last = task["Retry"]
            self.assertEqual(["States.ALL"], last["ErrorEquals"])
            self.assertFalse([retry for retry in first if "States.ALL" in retry["ErrorEquals"]])
        known = {error for retry in tasks[1]["Retry"] for error in retry["ErrorEquals"]}
        ours = {"OutOfTime", "Throttled", "Unavailable"}
        self.assertLessEqual({"Lambda.TooManyRequestsException", "Lambda.ServiceException"} | ours, known)
        # The worker's names.
        worker = ROOT / "crates/order-history/rebuild/src/worker.rs"
        self.assertLessEqual(ours, set(re.findall(r'=> "(\w+)"', worker.read_text())))

    def test_a_run_uses_the_same_version_of_the_code_until_its_end(self):
        (found,) = self.development.of_type("AWS::StepFunctions::StateMachine").values()
        for step in STEPS:
            self.assertRegex(found["DefinitionSubstitutions"][step], rf"^<Rebuild{step}Version\w+>$")
            version = self.development.resources[found["DefinitionSubstitutions"][step].strip("<>")]
            self.assertEqual("Retain", version["DeletionPolicy"])

    # No test can run with this role.
    # https://docs.aws.amazon.com/step-functions/latest/dg/iam-policies-eg-dist-map.html
    def test_the_state_machine_has_exactly_the_permissions_of_a_distributed_map(self):
        states = "arn:aws:states:eu-west-1:123456789012"
        executions = {f"{states}:execution:{PREFIX}-rebuild:*", f"{states}:execution:{PREFIX}-rebuild/*"}
        wanted = {
            "lambda:InvokeFunction": {f"<Rebuild{step}.Arn>:*" for step in STEPS},
            "s3:GetObject": {"<EventsBucket.Arn>/runs/*"},
            "states:StartExecution": {f"{states}:stateMachine:{PREFIX}-rebuild"},
            "states:DescribeExecution": executions,
            "states:StopExecution": executions,
        }
        self.assertEqual(wanted, allowed(self.development, "RebuildRole"))
        (found,) = self.development.of_type("AWS::StepFunctions::StateMachine").values()
        self.assertEqual(f"{PREFIX}-rebuild", found["StateMachineName"])
        self.assertEqual("<RebuildRole.Arn>", found["RoleArn"])
        role = self.development.of_type("AWS::IAM::Role")["RebuildRole"]
        (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
        self.assertEqual({"Service": "states.amazonaws.com"}, trust["Principal"])
        more = set(allowed(self.everything, "RebuildRole")) - set(wanted)
        self.assertEqual({"kms", "xray"}, {action.split(":")[0] for action in more})

    def test_a_step_has_only_the_permissions_for_its_own_work(self):
        common = {
            "s3:ListBucket": {"<EventsBucket.Arn>"},
            "s3:GetObject": {"<EventsBucket.Arn>/*"},
            "s3:PutObject": {"<EventsBucket.Arn>/runs/*"},
        }
        merges = {f"dynamodb:{action}": TABLES for action in ["GetItem", "PutItem", "UpdateItem"]}
        for step, own in [("Plan", {}), ("Fold", merges), ("Report", {})]:
            with self.subTest(step):
                may = allowed(self.development, f"Rebuild{step}Role")
                self.assertEqual(common | own, {a: r for a, r in may.items() if not a.startswith("logs:")})
                function = self.development.of_type("AWS::Lambda::Function")[f"Rebuild{step}"]
                self.assertEqual(f"Rebuild{step}Role", named(function["Role"]))
                self.assertEqual((step, 900), (function["Handler"], function["Timeout"]))
                self.assertEqual("target/lambda/rebuild-worker/", function["Code"]["S3Key"])

    def test_the_timeout_of_a_task_is_longer_than_its_functions(self):
        states = machine(self.development)["States"]
        for task in [states["Plan"], states["Fold"]["ItemProcessor"]["States"]["FoldBatch"], states["Report"]]:
            self.assertGreater(task["TimeoutSeconds"], 900)

    def test_an_alarm_fires_if_a_rebuild_fails(self):
        alarm = self.everything.of_type("AWS::CloudWatch::Alarm")["RebuildFailed"]
        self.assertEqual(("AWS/States", "ExecutionsFailed"), (alarm["Namespace"], alarm["MetricName"]))
        self.assertEqual([{"Name": "StateMachineArn", "Value": "<Rebuild>"}], alarm["Dimensions"])


class ServedTable(unittest.TestCase):
    def test_the_query_function_reads_this_stacks_table_or_the_configured_one(self):
        for served, found in [("", "<OrderHistory>"), (f"{PREFIX}-v2", f"{PREFIX}-v2")]:
            stack = ORDER_HISTORY.with_parameters(ServedTable=served)
            variables = stack.of_type("AWS::Lambda::Function")["QueryApi"]["Environment"]["Variables"]
            self.assertEqual(found, variables["ORDER_HISTORY_TABLE"])
            self.assertEqual(found, stack.outputs["ServedTable"])

    def test_the_handlers_always_write_this_stacks_table_so_that_a_switch_can_be_undone(self):
        stack = ORDER_HISTORY.with_parameters(ServedTable=f"{PREFIX}-v2")
        for name, function in properties(stack, "AWS::Lambda::Function"):
            if name.startswith("Handler"):
                self.assertEqual("<OrderHistory>", function["Environment"]["Variables"]["ORDER_HISTORY_TABLE"])

    def test_a_switch_changes_no_permission_so_that_both_versions_work_during_the_rollout(self):
        roles = [
            ORDER_HISTORY.with_parameters(ServedTable=served, Rollout=GRADUAL).of_type("AWS::IAM::Role")["QueryRole"]
            for served in ["", f"{PREFIX}-v2", f"{PREFIX}-v3"]
        ]
        self.assertEqual([roles[0]] * 3, roles)
        may = allowed(ORDER_HISTORY.with_parameters(), "QueryRole")
        self.assertEqual(TABLES, may["dynamodb:GetItem"])
        self.assertEqual({f"{table}/index/{INDEX}" for table in TABLES}, may["dynamodb:Query"])

    def test_a_switch_is_rolled_out_like_a_new_version(self):
        stacks = [ORDER_HISTORY.with_parameters(ServedTable=t, Rollout=GRADUAL) for t in ["", f"{PREFIX}-v2", ""]]
        first, second, back = (stack.resources["QueryApiAliaslive"] for stack in stacks)
        self.assertNotEqual(first["Properties"]["FunctionVersion"], second["Properties"]["FunctionVersion"])
        self.assertEqual(first, back)
        self.assertIn("CodeDeployLambdaAliasUpdate", second["UpdatePolicy"])

    def test_a_second_stacks_table_has_a_name_that_the_first_may_read(self):
        second = ORDER_HISTORY.with_parameters(Prefix=f"{PREFIX}-v2")
        (pattern,) = [table.rpartition("/")[2] for table in TABLES if table.endswith("*")]
        table = second.of_type("AWS::DynamoDB::Table")["OrderHistory"]["TableName"]
        self.assertTrue(table.startswith(pattern.rstrip("*")))
        self.assertEqual([], second.refusals)


if __name__ == "__main__":
    unittest.main()
