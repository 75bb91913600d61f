"""What template.yaml promises, checked on what CloudFormation would get."""

import json
import re
import tomllib
import unittest

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from template import ROOT, Expanded

# CloudFormation takes 500. Below that there must be room for types to come.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
MOST_RESOURCES = 400

ALARM_TOPIC = "arn:aws:sns:eu-west-1:123456789012:alarms"

DEVELOPMENT = Expanded()
PRODUCTION = Expanded(
    Stage="production",
    AlarmTopicArn=ALARM_TOPIC,
    Rollout="Canary10Percent10Minutes",
    CorsOrigins="https://a.example,https://b.example",
)

EVENT_TYPES = re.findall(
    r"^    (\w+) by \w+ carries", (ROOT / "crates/order-history/order-events/src/event.rs").read_text(), re.MULTILINE
)


def properties(stack, resource_type):
    found = stack.of_type(resource_type)
    assert found, f"no {resource_type}"
    return found.items()


def statements(policy_document):
    return policy_document["Statement"]


def actions(statement):
    action = statement["Action"]
    return action if isinstance(action, list) else [action]


class Template(unittest.TestCase):
    def test_there_is_room_for_more_event_types(self):
        for stage, stack in [("development", DEVELOPMENT), ("production", PRODUCTION)]:
            print(f"{len(stack.resources)} resources in {stage}")
            self.assertLessEqual(len(stack.resources), MOST_RESOURCES)

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
        stack = Expanded(Prefix="ftgo-order-history-staging")
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
        queues = DEVELOPMENT.of_type("AWS::SQS::Queue")
        functions = DEVELOPMENT.of_type("AWS::Lambda::Function")
        for name, mapping in properties(DEVELOPMENT, "AWS::Lambda::EventSourceMapping"):
            with self.subTest(name):
                queue = queues[mapping["EventSourceArn"].strip("<>").removesuffix(".Arn")]
                function = functions[mapping["FunctionName"].strip("<>").removesuffix("Aliaslive")]
                self.assertGreaterEqual(queue["VisibilityTimeout"], 6 * function["Timeout"])
                self.assertEqual(["ReportBatchItemFailures"], mapping["FunctionResponseTypes"])
                self.assertGreaterEqual(int(mapping["ScalingConfig"]["MaximumConcurrency"]), 2)

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

    def test_every_function_has_a_role_of_its_own_with_named_actions_on_named_resources(self):
        roles = DEVELOPMENT.of_type("AWS::IAM::Role")
        used = [f["Role"].strip("<>").removesuffix(".Arn") for f in DEVELOPMENT.of_type("AWS::Lambda::Function").values()]
        self.assertEqual(sorted(roles), sorted(used))
        for name, role in properties(DEVELOPMENT, "AWS::IAM::Role"):
            with self.subTest(name):
                self.assertNotIn("ManagedPolicyArns", role)
                for policy in role["Policies"]:
                    for statement in statements(policy["PolicyDocument"]):
                        self.assertFalse([action for action in actions(statement) if "*" in action])
                        if "*" in statement["Resource"]:
                            self.assertEqual({"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, set(actions(statement)))

    def test_every_function_logs_json_to_a_log_group_with_retention_and_traces(self):
        log_groups = DEVELOPMENT.of_type("AWS::Logs::LogGroup")
        for name, function in properties(DEVELOPMENT, "AWS::Lambda::Function"):
            with self.subTest(name):
                log_group = log_groups[function["LoggingConfig"]["LogGroup"].strip("<>")]
                self.assertIn("RetentionInDays", log_group)
                self.assertEqual(f"/aws/lambda/{function['FunctionName']}", log_group["LogGroupName"])
                self.assertEqual("JSON", function["LoggingConfig"]["LogFormat"])
                self.assertEqual("INFO", function["LoggingConfig"]["ApplicationLogLevel"])
                self.assertEqual({"Mode": "Active"}, function["TracingConfig"])
                self.assertEqual(["arm64"], function["Architectures"])
                self.assertEqual("provided.al2023", function["Runtime"])

    def test_tables_are_kept_in_production_and_go_with_the_stack_elsewhere(self):
        for stack, policy, is_protected in [(DEVELOPMENT, "Delete", False), (PRODUCTION, "Retain", True)]:
            for name, table in properties(stack, "AWS::DynamoDB::Table"):
                with self.subTest(name):
                    self.assertEqual(policy, stack.resources[name]["DeletionPolicy"])
                    self.assertEqual(policy, stack.resources[name]["UpdateReplacePolicy"])
                    self.assertIs(is_protected, table["DeletionProtectionEnabled"])
                    self.assertTrue(table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"])
                    self.assertTrue(table["SSESpecification"]["SSEEnabled"])
                    self.assertEqual("PAY_PER_REQUEST", table["BillingMode"])
        for name, table in properties(Expanded(DeletionProtection="true"), "AWS::DynamoDB::Table"):
            with self.subTest(name):
                self.assertTrue(table["DeletionProtectionEnabled"])

    def test_a_gradual_rollout_is_taken_back_by_the_functions_alarm(self):
        self.assertEqual({}, DEVELOPMENT.of_type("AWS::CodeDeploy::DeploymentGroup"))
        alarms = PRODUCTION.of_type("AWS::CloudWatch::Alarm")
        groups = PRODUCTION.of_type("AWS::CodeDeploy::DeploymentGroup")
        self.assertEqual(len(PRODUCTION.of_type("AWS::Lambda::Function")), len(groups))
        for name, group in properties(PRODUCTION, "AWS::CodeDeploy::DeploymentGroup"):
            with self.subTest(name):
                self.assertEqual("CodeDeployDefault.LambdaCanary10Percent10Minutes", group["DeploymentConfigName"])
                self.assertTrue(group["AlarmConfiguration"]["Enabled"])
                for alarm in group["AlarmConfiguration"]["Alarms"]:
                    self.assertIn(alarm["Name"].strip("<>"), alarms)
        for name, _ in properties(PRODUCTION, "AWS::Lambda::Alias"):
            with self.subTest(name):
                self.assertIn("CodeDeployLambdaAliasUpdate", PRODUCTION.resources[name]["UpdatePolicy"])

    def test_alarms_are_heard_and_say_what_is_wrong(self):
        for name, alarm in properties(PRODUCTION, "AWS::CloudWatch::Alarm"):
            with self.subTest(name):
                self.assertEqual([ALARM_TOPIC], alarm["AlarmActions"])
                self.assertEqual([ALARM_TOPIC], alarm["OKActions"])
                self.assertTrue(alarm["AlarmDescription"])
                self.assertEqual("notBreaching", alarm["TreatMissingData"])
        for name, alarm in properties(DEVELOPMENT, "AWS::CloudWatch::Alarm"):
            with self.subTest(name):
                self.assertNotIn("AlarmActions", alarm)

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
