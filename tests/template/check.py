"""What template.yaml promises, checked on what CloudFormation would get."""

import graphlib
import json
import re
import tomllib
import unittest

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from template import ORDER_HISTORY, ROOT

SOURCE, EVERY_OPTION, Expanded = ORDER_HISTORY.source, ORDER_HISTORY.every_option, ORDER_HISTORY.with_parameters

# CloudFormation takes 500. Below that there must be room for types to come.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
MOST_RESOURCES = 400

ALARM_TOPIC = EVERY_OPTION["AlarmTopicArn"]
KEY = EVERY_OPTION["KmsKeyArn"]
BOUNDARY = EVERY_OPTION["PermissionsBoundaryArn"]
CERTIFICATE = EVERY_OPTION["CertificateArn"]

DEVELOPMENT = Expanded()
PRODUCTION = Expanded(
    Stage="production",
    AlarmTopicArn=ALARM_TOPIC,
    Rollout="Canary10Percent10Minutes",
    CorsOrigins="https://a.example,https://b.example",
)
EVERYTHING = Expanded(**EVERY_OPTION)

# What LanguageExtensions resolves in a loop beside the loop's variable.
KNOWN_IN_LOOPS = {*SOURCE["Parameters"], "AWS::Region", "AWS::AccountId", "AWS::Partition"}

EVENT_TYPES = re.findall(
    r"^    (\w+) by \w+ carries", (ROOT / "crates/order-history/order-events/src/event.rs").read_text(), re.MULTILINE
)


def properties(stack, resource_type):
    found = stack.of_type(resource_type)
    assert found, f"no {resource_type}"
    return found.items()


def loops():
    """The variable and the body of every loop of the template."""
    found = [loop for name, loop in SOURCE["Resources"].items() if name.startswith("Fn::ForEach::")]
    assert found, "no loops"
    return [(variable, body) for variable, _, body in found]


def maps(value, path=""):
    """Every map in a value, and where it is."""
    if isinstance(value, dict):
        yield path, value
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []:
        yield from maps(item, f"{path}/{name}")


def statements(policy_document):
    return policy_document["Statement"]


def actions(statement):
    action = statement["Action"]
    return action if isinstance(action, list) else [action]


class Template(unittest.TestCase):
    def test_there_is_room_for_more_event_types(self):
        for stage, stack in [("development", DEVELOPMENT), ("production", PRODUCTION), ("all options", EVERYTHING)]:
            print(f"{len(stack.resources)} resources in {stage}")
            self.assertLessEqual(len(stack.resources), MOST_RESOURCES)

    def test_no_resource_waits_for_itself(self):
        # The linters see the template without a gradual rollout, in which an alias waits for alarms, and they for a version.
        for stack in [DEVELOPMENT, PRODUCTION, EVERYTHING]:
            graph = {
                name: {found for found in re.findall(r"<(\w+)", json.dumps(resource)) if found in stack.resources}
                | set(resource.get("DependsOn", []))
                for name, resource in stack.resources.items()
            }
            self.assertEqual(len(stack.resources), len(list(graphlib.TopologicalSorter(graph).static_order())))
        self.assertIn("NewVersionFailingOrderCreated", graph["HandlerOrderCreatedDeploymentGroup"])

    # The next three: open bugs of the LanguageExtensions transform, which nothing on this machine has.
    # https://github.com/aws-cloudformation/cfn-language-discussion/issues/147 and 156

    def test_no_map_in_a_loop_begins_with_condition(self):
        for _, body in loops():
            for path, found in maps(body):
                with self.subTest(path):
                    self.assertNotEqual("Condition", next(iter(found), None))

    # https://github.com/aws-cloudformation/cfn-language-discussion/issues/160
    def test_there_is_no_depends_on_below_properties(self):
        outside = {name: resource for name, resource in SOURCE["Resources"].items() if not name.startswith("Fn::ForEach::")}
        for resources in [outside, *(body for _, body in loops())]:
            for name, resource in resources.items():
                for path, found in maps(resource["Properties"]):
                    with self.subTest(name + path):
                        self.assertNotIn("DependsOn", found)

    # https://github.com/aws-cloudformation/cfn-language-discussion/issues/151
    def test_texts_in_a_loop_use_only_what_language_extensions_resolves(self):
        for variable, body in loops():
            for path, found in maps(body):
                if "Fn::Sub" in found:
                    text, own = (found["Fn::Sub"], {}) if isinstance(found["Fn::Sub"], str) else found["Fn::Sub"]
                    with self.subTest(path):
                        self.assertEqual(set(), set(re.findall(r"\$\{([^}!]+)\}", text)) - KNOWN_IN_LOOPS - {variable, *own})

    def test_a_changed_parameter_is_rolled_out_as_a_new_version(self):
        def versions(**parameters):
            return set(Expanded(**parameters).of_type("AWS::Lambda::Version"))

        of_all = ["HandlerMemory=512", "LogLevel=DEBUG", "Tracing=Active", "Architecture=x86_64"]
        for assignment in ["ReadBudget=7", "MaxWaitSeconds=3", "ConsumerIdClaim=id", "QueryReservedConcurrency=50", *of_all]:
            with self.subTest(assignment):
                changed = versions(**dict([assignment.split("=")])) - versions()
                self.assertTrue(
                    any(version.startswith("QueryApiVersion") for version in changed) or assignment == "HandlerMemory=512"
                )
                if assignment in of_all:
                    self.assertGreaterEqual(len(changed), len(EVENT_TYPES))

    def test_every_event_type_of_the_code_has_a_function_and_a_queue(self):
        self.assertGreaterEqual(len(EVENT_TYPES), 19)
        handlers = [f["Handler"] for f in DEVELOPMENT.of_type("AWS::Lambda::Function").values()]
        self.assertEqual([*EVENT_TYPES, "bootstrap"], handlers)
        queues = [q["QueueName"] for q in DEVELOPMENT.of_type("AWS::SQS::Queue").values()]
        self.assertEqual([f"ftgo-order-history-{t}{dlq}" for t in EVENT_TYPES for dlq in ["", "-dlq"]], queues)

    def test_every_name_of_an_event_type_reaches_its_queue_and_no_other(self):
        forms = ["{}", "{}Event", "net.chrisrichardson.ftgo.api.events.{}", "net.chrisrichardson.ftgo.api.events.{}Event"]
        for event_type in EVENT_TYPES:
            for form in [*forms, "com.example.Events${}", "com.example.Events${}Event"]:
                self.assertEqual([f"<Queue{event_type}.Arn>"], delivered(form.format(event_type)))
            for other in [f"Bulk{event_type}", f"{event_type}Late", f"com.example.{event_type}.v2", event_type.lower()]:
                self.assertEqual([], delivered(other))

    def test_a_stage_has_names_of_its_own(self):
        stack = Expanded(Prefix="ftgo-order-history-staging", AlarmTopicArn=ALARM_TOPIC, Rollout="Canary10Percent5Minutes")
        for resource_type, called in [
            ("AWS::SQS::Queue", "QueueName"),
            ("AWS::DynamoDB::Table", "TableName"),
            ("AWS::Lambda::Function", "FunctionName"),
            ("AWS::CloudWatch::Alarm", "AlarmName"),
            ("AWS::CloudWatch::Dashboard", "DashboardName"),
        ]:
            for name, resource in properties(stack, resource_type):
                with self.subTest(name):
                    self.assertTrue(resource[called].startswith("ftgo-order-history-staging"))
        longest = Expanded(Prefix="x" * 35)
        for name, function in properties(longest, "AWS::Lambda::Function"):
            with self.subTest(name):
                self.assertLessEqual(len(function["FunctionName"]), 64)
        for name, queue in properties(longest, "AWS::SQS::Queue"):
            with self.subTest(name):
                self.assertLessEqual(len(queue["QueueName"]), 80)

    def test_a_message_is_not_handed_out_again_while_it_is_worked_on(self):
        for window in SOURCE["Parameters"]["BatchingWindow"]["AllowedValues"]:
            stack = Expanded(BatchingWindow=window, AlarmTopicArn=ALARM_TOPIC)
            queues = stack.of_type("AWS::SQS::Queue")
            functions = stack.of_type("AWS::Lambda::Function")
            for name, mapping in properties(stack, "AWS::Lambda::EventSourceMapping"):
                with self.subTest(f"{name} with a window of {window}"):
                    # SAM's name of it, for else a stack that is deployed already could not be updated.
                    event_type = name.removeprefix("Handler").removesuffix("Queue")
                    self.assertEqual(f"Handler{event_type}Queue", name)
                    self.assertEqual(f"<Queue{event_type}.Arn>", mapping["EventSourceArn"])
                    self.assertEqual(f"<Handler{event_type}Aliaslive>", mapping["FunctionName"])
                    self.assertEqual(window, mapping["MaximumBatchingWindowInSeconds"])
                    self.assertEqual(["ReportBatchItemFailures"], mapping["FunctionResponseTypes"])
                    visibility_timeout = queues[f"Queue{event_type}"]["VisibilityTimeout"]
                    self.assertGreaterEqual(visibility_timeout, 6 * functions[f"Handler{event_type}"]["Timeout"] + int(window))
                    behind = stack.of_type("AWS::CloudWatch::Alarm")[f"Behind{event_type}"]["Threshold"]
                    self.assertGreater(behind, 3 * visibility_timeout)

    def test_a_message_that_fails_is_kept_for_fourteen_days(self):
        queues = DEVELOPMENT.of_type("AWS::SQS::Queue")
        dead_letter_queues = set()
        for name, queue in properties(DEVELOPMENT, "AWS::SQS::Queue"):
            with self.subTest(name):
                if "RedrivePolicy" in queue:
                    self.assertGreaterEqual(queue["RedrivePolicy"]["maxReceiveCount"], 5)
                    target = queue["RedrivePolicy"]["deadLetterTargetArn"].strip("<>").removesuffix(".Arn")
                    self.assertEqual(14 * 86400, queues[target]["MessageRetentionPeriod"])
                    self.assertLess(queue["MessageRetentionPeriod"], queues[target]["MessageRetentionPeriod"])
                    dead_letter_queues.add(target)
        self.assertEqual({n for n, q in queues.items() if "RedrivePolicy" not in q}, dead_letter_queues)

    def test_queues_are_encrypted_and_take_messages_from_the_topic_only_over_tls(self):
        policies = {}
        for name, policy in properties(DEVELOPMENT, "AWS::SQS::QueuePolicy"):
            with self.subTest(name):
                for queue in policy["Queues"]:
                    policies[queue.strip("<>")] = statements(policy["PolicyDocument"])
        for name, queue in properties(DEVELOPMENT, "AWS::SQS::Queue"):
            with self.subTest(name):
                self.assertTrue(queue["SqsManagedSseEnabled"])
                self.assertNotIn("KmsMasterKeyId", queue)
                allow, deny = policies[name]
                for statement in [allow, deny]:
                    self.assertEqual(f"<{name}.Arn>", statement["Resource"])
                self.assertEqual({"ArnEquals": {"aws:SourceArn": "<DomainEvents>"}}, allow["Condition"])
                self.assertEqual(("Allow", "sqs:SendMessage"), (allow["Effect"], allow["Action"]))
                self.assertEqual(("Deny", "sqs:*", "*"), (deny["Effect"], deny["Action"], deny["Principal"]))
                self.assertEqual({"Bool": {"aws:SecureTransport": "false"}}, deny["Condition"])

    def test_a_queue_lets_the_topic_in_before_it_is_subscribed(self):
        for event_type in EVENT_TYPES:
            after = DEVELOPMENT.resources[f"Subscription{event_type}"]["Metadata"]["After"]
            self.assertEqual([f"<QueuePolicy{event_type}>", f"<DlqPolicy{event_type}>"], after)

    def test_a_topic_that_is_there_already_is_used(self):
        topic = "arn:aws:sns:eu-west-1:123456789012:theirs"
        stack = Expanded(DomainEventsTopicArn=topic)
        self.assertEqual({}, stack.of_type("AWS::SNS::Topic"))
        for name, subscription in properties(stack, "AWS::SNS::Subscription"):
            with self.subTest(name):
                self.assertEqual(topic, subscription["TopicArn"])
        for name, policy in properties(stack, "AWS::SQS::QueuePolicy"):
            with self.subTest(name):
                self.assertEqual(topic, statements(policy["PolicyDocument"])[0]["Condition"]["ArnEquals"]["aws:SourceArn"])

    def test_a_message_with_more_than_ten_attributes_is_delivered(self):
        # Raw delivery would drop it.
        for name, subscription in properties(DEVELOPMENT, "AWS::SNS::Subscription"):
            with self.subTest(name):
                self.assertFalse(subscription["RawMessageDelivery"])

    def test_every_function_has_a_role_of_its_own_with_named_actions_on_named_resources(self):
        for stack in [DEVELOPMENT, EVERYTHING]:
            roles = {name: role for name, role in stack.of_type("AWS::IAM::Role").items() if name != "CodeDeployRole"}
            used = [f["Role"].strip("<>").removesuffix(".Arn") for f in stack.of_type("AWS::Lambda::Function").values()]
            self.assertEqual(sorted(roles), sorted(used))
            for name, role in roles.items():
                with self.subTest(name):
                    self.assertNotIn("ManagedPolicyArns", role)
                    for policy in role["Policies"]:
                        for statement in statements(policy["PolicyDocument"]):
                            self.assertFalse([action for action in actions(statement) if "*" in action])
                            if "*" in statement["Resource"]:
                                self.assertEqual({"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, set(actions(statement)))

    def test_a_permissions_boundary_is_on_every_role_and_on_none_unless_told(self):
        for name, role in properties(EVERYTHING, "AWS::IAM::Role"):
            with self.subTest(name):
                self.assertEqual(BOUNDARY, role["PermissionsBoundary"])
        for name, role in properties(PRODUCTION, "AWS::IAM::Role"):
            with self.subTest(name):
                self.assertNotIn("PermissionsBoundary", role)

    def test_a_key_of_ones_own_is_used_by_all_that_keeps_data_and_by_all_that_reads_it(self):
        for resource_type, used in [
            ("AWS::DynamoDB::Table", lambda table: table["SSESpecification"].get("KMSMasterKeyId")),
            ("AWS::SQS::Queue", lambda queue: queue.get("KmsMasterKeyId")),
            ("AWS::SNS::Topic", lambda topic: topic["KmsMasterKeyId"].replace("alias/aws/sns", "") or None),
            ("AWS::Logs::LogGroup", lambda log_group: log_group.get("KmsKeyId")),
        ]:
            for stack, key in [(EVERYTHING, KEY), (PRODUCTION, None)]:
                for name, resource in properties(stack, resource_type):
                    with self.subTest(name):
                        self.assertEqual(key, used(resource))
        for name, queue in properties(EVERYTHING, "AWS::SQS::Queue"):
            with self.subTest(name):
                self.assertNotIn("SqsManagedSseEnabled", queue)
        for stack, key in [(EVERYTHING, KEY), (PRODUCTION, None)]:
            policies = {
                name: role["Policies"][0] for name, role in stack.of_type("AWS::IAM::Role").items() if "Policies" in role
            }
            for name, policy in {**policies, **stack.of_type("AWS::IAM::ManagedPolicy")}.items():
                with self.subTest(name):
                    allowed = {a: s["Resource"] for s in statements(policy["PolicyDocument"]) for a in actions(s)}
                    self.assertEqual(key, allowed.get("kms:Decrypt"))
                    if name != "QueryRole":
                        self.assertEqual(key, allowed.get("kms:GenerateDataKey"))

    def test_traces_are_made_only_if_asked_for(self):
        for stack, mode in [(DEVELOPMENT, "PassThrough"), (EVERYTHING, "Active")]:
            for name, function in properties(stack, "AWS::Lambda::Function"):
                with self.subTest(f"{name} {mode}"):
                    self.assertEqual({"Mode": mode}, function["TracingConfig"])
                    role = stack.of_type("AWS::IAM::Role")[function["Role"].strip("<>").removesuffix(".Arn")]
                    sids = [statement["Sid"] for statement in statements(role["Policies"][0]["PolicyDocument"])]
                    self.assertEqual(mode == "Active", "Trace" in sids)

    def test_an_operator_may_look_and_redrive_and_nothing_else(self):
        (policy,) = DEVELOPMENT.of_type("AWS::IAM::ManagedPolicy").values()
        self.assertEqual("<OperatorPolicy>", DEVELOPMENT.outputs["OperatorPolicyArn"])
        changes = {"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage", "sqs:SendMessage"}
        changes |= {"sqs:StartMessageMoveTask", "sqs:CancelMessageMoveTask"}
        # The rest of what `make status`, `logs`, `dlq`, `drop` and `redrive` call.
        needed = {"cloudformation:DescribeStacks", "cloudformation:DescribeStackEvents", "cloudformation:ListStackResources"}
        needed |= {"cloudwatch:GetMetricData", "cloudwatch:DescribeAlarms", "logs:FilterLogEvents"}
        needed |= {"sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:ListMessageMoveTasks"} | changes
        seen = set()
        for statement in statements(policy["PolicyDocument"]):
            resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
            for action in actions(statement):
                with self.subTest(action):
                    looks = re.fullmatch(r"\w+:(Get|List|Describe)\w+|logs:FilterLogEvents|logs:StartLiveTail", action)
                    self.assertTrue(looks or action in changes)
                    self.assertNotIn(action.split(":")[0], ["dynamodb", "lambda", "iam"])
                    if not action.startswith("cloudwatch:"):
                        self.assertTrue(all("ftgo-" in resource for resource in resources))
                    if action in ["sqs:DeleteMessage", "sqs:ReceiveMessage"]:
                        self.assertTrue(all(resource.endswith("-dlq") for resource in resources))
            seen |= set(actions(statement))
        self.assertEqual(set(), needed - seen)

    def test_what_the_functions_are_told_is_what_the_parameters_say(self):
        for stack, memory, concurrency, wait, reserved in [
            (DEVELOPMENT, 256, 10, "10", None),
            (EVERYTHING, 512, 50, "3", 50),
        ]:
            functions = stack.of_type("AWS::Lambda::Function")
            for name, function in functions.items():
                with self.subTest(name):
                    variables = function["Environment"]["Variables"]
                    self.assertEqual("ftgo-order-history", variables["METRICS_NAMESPACE"])
                    self.assertEqual("<OrderHistory>", variables["ORDER_HISTORY_TABLE"])
                    if name != "QueryApi":
                        self.assertEqual("<Idempotency>", variables["IDEMPOTENCY_TABLE"])
                        self.assertEqual(memory, int(function["MemorySize"]))
            for name, mapping in properties(stack, "AWS::Lambda::EventSourceMapping"):
                with self.subTest(name):
                    self.assertEqual(concurrency, int(mapping["ScalingConfig"]["MaximumConcurrency"]))
            self.assertEqual(wait, functions["QueryApi"]["Environment"]["Variables"]["MAX_WAIT_SECONDS"])
            self.assertEqual(reserved, reserved and int(functions["QueryApi"]["ReservedConcurrentExecutions"]))
            self.assertEqual(reserved is not None, "ReservedConcurrentExecutions" in functions["QueryApi"])

    def test_the_metrics_of_two_stages_do_not_mix(self):
        stack = Expanded(Prefix="ftgo-staging", AlarmTopicArn=ALARM_TOPIC, Rollout="Canary10Percent5Minutes")
        spaces = {alarm["Namespace"] for alarm in stack.of_type("AWS::CloudWatch::Alarm").values()}
        self.assertEqual({"ftgo-staging"}, {space for space in spaces if not space.startswith("AWS/")})
        (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
        expressions = [
            e["expression"]
            for w in json.loads(dashboard["DashboardBody"])["widgets"]
            for m in w["properties"]["metrics"]
            for e in m
            if isinstance(e, dict) and "expression" in e
        ]
        searched = {space for e in expressions for space in re.findall(r"\{([^,}]+),", e)}
        # In quotes, because of the hyphens.
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html
        self.assertEqual({'"ftgo-staging"'}, {space for space in searched if not space.startswith("AWS/")})

    def test_every_function_logs_json_to_a_log_group_with_retention(self):
        log_groups = DEVELOPMENT.of_type("AWS::Logs::LogGroup")
        for name, function in properties(DEVELOPMENT, "AWS::Lambda::Function"):
            with self.subTest(name):
                log_group = log_groups[function["LoggingConfig"]["LogGroup"].strip("<>")]
                self.assertIn("RetentionInDays", log_group)
                self.assertEqual(f"/aws/lambda/{function['FunctionName']}", log_group["LogGroupName"])
                self.assertEqual("JSON", function["LoggingConfig"]["LogFormat"])
                self.assertEqual(["arm64"], function["Architectures"])
                self.assertEqual("provided.al2023", function["Runtime"])

    # https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
    def test_the_functions_filter_their_lines_and_lambda_drops_none(self):
        for level in ["DEBUG", "INFO", "WARN", "ERROR"]:
            self.assertIn(level, SOURCE["Parameters"]["LogLevel"]["AllowedValues"])
            for name, function in properties(Expanded(LogLevel=level), "AWS::Lambda::Function"):
                with self.subTest(level + name):
                    self.assertEqual(level, function["Environment"]["Variables"]["LOG_LEVEL"])
                    self.assertEqual("TRACE", function["LoggingConfig"]["ApplicationLogLevel"])
                    self.assertEqual("WARN", function["LoggingConfig"]["SystemLogLevel"])
        for name, function in properties(DEVELOPMENT, "AWS::Lambda::Function"):
            with self.subTest(name):
                self.assertEqual("INFO", function["Environment"]["Variables"]["LOG_LEVEL"])

    def test_the_dashboard_shows_a_count_that_was_not_published_as_zero(self):
        (dashboard,) = DEVELOPMENT.of_type("AWS::CloudWatch::Dashboard").values()
        counts = re.findall(r'"expression": "([^\n]*MetricName=[^\n]*\'Sum\', 60\)[^"]*)"', dashboard["DashboardBody"])
        ours = [count for count in counts if "EventType}" in count]
        self.assertEqual(6, len(ours))
        for count in ours:
            with self.subTest(count):
                self.assertRegex(count, r"^(SUM\()?FILL\(SEARCH\([^)]*\), 0\)\)?$")

    def test_tables_are_kept_in_production_and_go_with_the_stack_elsewhere(self):
        for stack, policy, is_protected in [(DEVELOPMENT, "Delete", False), (PRODUCTION, "Retain", True)]:
            for name, table in properties(stack, "AWS::DynamoDB::Table"):
                with self.subTest(name):
                    self.assertEqual(policy, stack.resources[name]["DeletionPolicy"])
                    self.assertEqual(policy, stack.resources[name]["UpdateReplacePolicy"])
                    self.assertIs(is_protected, table["DeletionProtectionEnabled"])
                    # Records that expire need no backup.
                    has_backups = table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled", False)
                    self.assertEqual("TimeToLiveSpecification" not in table, has_backups)
                    self.assertTrue(table["SSESpecification"]["SSEEnabled"])
                    self.assertEqual("PAY_PER_REQUEST", table["BillingMode"])
        for name, table in properties(Expanded(DeletionProtection="true"), "AWS::DynamoDB::Table"):
            with self.subTest(name):
                self.assertTrue(table["DeletionProtectionEnabled"])

    def test_a_gradual_rollout_is_taken_back_by_what_the_new_version_does(self):
        for resource_type in ["AWS::CodeDeploy::DeploymentGroup", "AWS::CloudWatch::Alarm"]:
            self.assertEqual({}, DEVELOPMENT.of_type(resource_type))
        alarms = PRODUCTION.of_type("AWS::CloudWatch::Alarm")
        groups = PRODUCTION.of_type("AWS::CodeDeploy::DeploymentGroup")
        aliases = PRODUCTION.of_type("AWS::Lambda::Alias")
        for name, function in properties(PRODUCTION, "AWS::Lambda::Function"):
            with self.subTest(name):
                alias = PRODUCTION.resources[f"{name}Aliaslive"]
                self.assertIn("CodeDeployLambdaAliasUpdate", alias["UpdatePolicy"])
                # As the alias has it, so the one that is rolled out.
                version = alias["Properties"]["FunctionVersion"]
                self.assertRegex(version, rf"^<{name}Version\w+\.Version>$")
                group = groups[f"{name}DeploymentGroup"]
                self.assertEqual("CodeDeployDefault.LambdaCanary10Percent10Minutes", group["DeploymentConfigName"])
                self.assertEqual("<CodeDeployRole.Arn>", group["ServiceRoleArn"])
                self.assertTrue(group["AlarmConfiguration"]["Enabled"])
                watched = [alarms[alarm["Name"].strip("<>")] for alarm in group["AlarmConfiguration"]["Alarms"]]
                dimensions = [{d["Name"]: d["Value"] for d in alarm["Dimensions"]} for alarm in watched]
                called = function["FunctionName"]
                of_lambda = {"FunctionName": called, "Resource": f"{called}:live", "ExecutedVersion": version}
                of_answers = {"Function": "query-api", "Version": version}
                self.assertEqual([of_lambda, of_answers] if name == "QueryApi" else [of_lambda], dimensions)
                for alarm in watched:
                    self.assertEqual("notBreaching", alarm["TreatMissingData"])
        self.assertEqual(len(aliases), len(groups))

    def test_alarms_are_heard_or_not_there(self):
        rollback = {
            a["Name"]
            for g in PRODUCTION.of_type("AWS::CodeDeploy::DeploymentGroup").values()
            for a in g["AlarmConfiguration"]["Alarms"]
        }
        for name, alarm in properties(PRODUCTION, "AWS::CloudWatch::Alarm"):
            with self.subTest(name):
                self.assertEqual("notBreaching", alarm["TreatMissingData"])
                if f"<{name}>" in rollback:
                    # CodeDeploy hears it.
                    self.assertNotIn("AlarmActions", alarm)
                else:
                    self.assertEqual([ALARM_TOPIC], alarm["AlarmActions"])
                    self.assertEqual([ALARM_TOPIC], alarm["OKActions"])
        unheard = Expanded(Rollout="Canary10Percent10Minutes").of_type("AWS::CloudWatch::Alarm")
        self.assertEqual(rollback, {f"<{name}>" for name in unheard})

    def test_alarms_say_what_is_wrong_and_where_the_runbook_has_it(self):
        sections = [
            "dead-letters",
            "behind",
            "failing",
            "late",
            "server-errors",
            "slow-answers",
            "unreadable-attributes",
            "throttled",
        ]
        linked = set()
        for stack, runbook in [(PRODUCTION, "docs/runbook.md"), (EVERYTHING, "https://wiki.example/runbook")]:
            for name, alarm in properties(stack, "AWS::CloudWatch::Alarm"):
                with self.subTest(name):
                    text, section = alarm["AlarmDescription"].split(f" See {runbook}#")
                    self.assertGreater(len(text), 30)
                    self.assertTrue(alarm["AlarmName"].endswith(section))
                    linked.add(section)
        self.assertEqual(set(sections), linked)

    def test_parameters_that_contradict_each_other_are_refused(self):
        for parameters, refused in [
            ({}, False),
            ({"Stage": "production"}, True),
            ({"Stage": "production", "AlarmTopicArn": ALARM_TOPIC}, False),
            ({"JwtIssuer": "", "JwtAudience": ""}, True),
            ({"JwtIssuer": ""}, True),
            ({"JwtAudience": ""}, True),
            ({"UserPool": "true", "JwtIssuer": "", "JwtAudience": ""}, False),
            ({"UserPool": "true"}, True),
            ({"UserPool": "true", "JwtAudience": ""}, True),
            ({"DomainName": "a.example", "CertificateArn": CERTIFICATE}, False),
            ({"DomainName": "a.example"}, True),
            ({"CertificateArn": CERTIFICATE}, True),
            ({"HostedZoneId": "Z123"}, True),
        ]:
            with self.subTest(parameters):
                self.assertEqual(refused, len(Expanded(**parameters).refusals) == 1)
        self.assertEqual([], EVERYTHING.refusals)

    def test_a_first_try_needs_no_issuer(self):
        stack = Expanded(UserPool="true", JwtIssuer="", JwtAudience="")
        for made, issuer, audience in [
            (stack, "https://cognito-idp.eu-west-1.amazonaws.com/<Users>", ["<UsersClient>"]),
            (DEVELOPMENT, "https://issuer.example", ["ftgo"]),
        ]:
            jwt = made.of_type("AWS::ApiGatewayV2::Authorizer")["JwtAuthorizer"]["JwtConfiguration"]
            self.assertEqual({"Issuer": issuer, "Audience": audience}, jwt)
        self.assertEqual({}, DEVELOPMENT.of_type("AWS::Cognito::UserPool"))
        self.assertTrue(stack.of_type("AWS::Cognito::UserPool")["Users"]["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"])
        self.assertEqual("<UsersClient>", stack.outputs["UserPoolClientId"])
        self.assertNotIn("UserPoolClientId", DEVELOPMENT.outputs)

    def test_the_api_has_a_domain_name_of_ones_own_if_asked_for(self):
        self.assertEqual("<HttpApi.ApiEndpoint>", DEVELOPMENT.outputs["ApiUrl"])
        self.assertEqual("https://api.ftgo.example", EVERYTHING.outputs["ApiUrl"])
        without_zone = Expanded(DomainName="a.example", CertificateArn=CERTIFICATE)
        for stack, domains, records in [(DEVELOPMENT, 0, 0), (without_zone, 1, 0), (EVERYTHING, 1, 1)]:
            self.assertEqual(domains, len(stack.of_type("AWS::ApiGatewayV2::DomainName")))
            self.assertEqual(domains, len(stack.of_type("AWS::ApiGatewayV2::ApiMapping")))
            self.assertEqual(records, len(stack.of_type("AWS::Route53::RecordSet")))

    def test_what_needs_no_token_has_a_rate_of_its_own(self):
        (stage,) = DEVELOPMENT.of_type("AWS::ApiGatewayV2::Stage").values()
        routes = DEVELOPMENT.of_type("AWS::ApiGatewayV2::Route")
        open_routes = {name: route["RouteKey"] for name, route in routes.items() if route["AuthorizationType"] == "NONE"}
        self.assertEqual(sorted(open_routes.values()), sorted(stage["RouteSettings"]))
        for key, settings in stage["RouteSettings"].items():
            with self.subTest(key):
                self.assertLess(settings["ThrottlingRateLimit"], int(stage["DefaultRouteSettings"]["ThrottlingRateLimit"]))
                self.assertLess(settings["ThrottlingBurstLimit"], int(stage["DefaultRouteSettings"]["ThrottlingBurstLimit"]))
        # API Gateway refuses settings of a route that is not there yet.
        self.assertEqual(sorted(open_routes), sorted(DEVELOPMENT.resources["HttpStage"]["DependsOn"]))

    def test_orders_need_a_token_and_their_preflight_does_not(self):
        routes = {route["RouteKey"]: route for _, route in properties(DEVELOPMENT, "AWS::ApiGatewayV2::Route")}
        for key, route in routes.items():
            needs_token = key.startswith("ANY /orders")
            self.assertEqual("JWT" if needs_token else "NONE", route["AuthorizationType"])
            self.assertEqual(needs_token, "AuthorizerId" in route)
            if needs_token:
                self.assertIn(key.replace("ANY", "OPTIONS"), routes)
        for name, integration in properties(DEVELOPMENT, "AWS::ApiGatewayV2::Integration"):
            with self.subTest(name):
                timeout = DEVELOPMENT.of_type("AWS::Lambda::Function")["QueryApi"]["Timeout"]
                self.assertGreater(integration["TimeoutInMillis"], 1000 * timeout)

    def test_cors_is_there_only_if_asked_for(self):
        self.assertNotIn("CorsConfiguration", DEVELOPMENT.of_type("AWS::ApiGatewayV2::Api")["HttpApi"])
        cors = PRODUCTION.of_type("AWS::ApiGatewayV2::Api")["HttpApi"]["CorsConfiguration"]
        self.assertEqual(["https://a.example", "https://b.example"], cors["AllowOrigins"])

    def test_what_is_json_inside_yaml_is_json(self):
        for name, dashboard in properties(DEVELOPMENT, "AWS::CloudWatch::Dashboard"):
            with self.subTest(name):
                self.assertTrue(json.loads(dashboard["DashboardBody"])["widgets"])
        for name, stage in properties(DEVELOPMENT, "AWS::ApiGatewayV2::Stage"):
            with self.subTest(name):
                self.assertIn("requestId", json.loads(stage["AccessLogSettings"]["Format"]))

    def test_dynamodb_is_at_awss_own_endpoint_unless_told(self):
        there = Expanded(DynamoDbEndpoint="https://dynamodb.example")
        for stack, endpoint in [(DEVELOPMENT, None), (there, "https://dynamodb.example")]:
            for name, function in properties(stack, "AWS::Lambda::Function"):
                with self.subTest(name):
                    self.assertEqual(endpoint, function["Environment"]["Variables"].get("AWS_ENDPOINT_URL_DYNAMODB"))

    def test_sam_local_runs_every_function_on_the_tables_of_make_run(self):
        endpoint = "http://host.docker.internal:8000"
        tables = [table["TableName"] for table in DEVELOPMENT.of_type("AWS::DynamoDB::Table").values()]
        sam = sam_local(DynamoDbEndpoint=endpoint, Architecture="x86_64")
        for name, function in properties(DEVELOPMENT, "AWS::Lambda::Function"):
            with self.subTest(name):
                config = sam.get_invoke_config(sam.get_function(function["FunctionName"]))
                self.assertEqual(("provided.al2023", "x86_64"), (config.runtime, config.architecture))
                self.assertEqual(function["Handler"], config.handler)
                self.assertEqual(str(ROOT / function["Code"]["S3Key"]).rstrip("/"), config.code_abs_path)
                variables = config.env_vars.resolve()
                self.assertEqual(endpoint, variables["AWS_ENDPOINT_URL_DYNAMODB"])
                wanted = [variables[v] for v in ["ORDER_HISTORY_TABLE", "IDEMPOTENCY_TABLE"] if v in variables]
                self.assertEqual(tables[: len(wanted)], wanted)
                self.assertTrue(wanted)

    def test_samconfig_sets_parameters_that_there_are(self):
        config = tomllib.loads((ROOT / "samconfig.toml").read_text())
        stages = {name: stage for name, stage in config.items() if isinstance(stage, dict)}
        self.assertEqual({"default", "staging", "production"}, set(stages))
        for name, stage in stages.items():
            for assignment in stage["deploy"]["parameters"]["parameter_overrides"]:
                parameter, _ = assignment.split("=", 1)
                with self.subTest(f"{name} {parameter}"):
                    self.assertIn(parameter, DEVELOPMENT.parameters)


def sam_local(**parameters):
    """What `sam local invoke` runs functions with, as samconfig.toml says."""
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())["default"]["local_invoke"]["parameters"]
    stacks, _ = SamLocalStackProvider.get_stacks(
        str(ROOT / "template.yaml"),
        parameter_overrides=parameters,
        language_extensions_enabled=config["language_extensions"],
    )
    variables = json.loads((ROOT / config["env_vars"]).read_text())
    functions = SamFunctionProvider(stacks)
    return LocalLambdaRunner(None, functions, str(ROOT), str(ROOT), aws_region="eu-west-1", env_vars_values=variables)


def delivered(name):
    """The queues to which the topic delivers a message with this event-type."""
    return [
        subscription["Endpoint"]
        for subscription in DEVELOPMENT.of_type("AWS::SNS::Subscription").values()
        if any(
            name.endswith(rule["suffix"]) if isinstance(rule, dict) else name == rule
            for rule in subscription["FilterPolicy"]["event-type"]
        )
    ]


if __name__ == "__main__":
    # SAM's own code calls what it deprecates.
    unittest.main(warnings="ignore")
