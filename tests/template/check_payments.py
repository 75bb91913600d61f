"""Checks of payments.yaml, in addition to those for both templates."""

import json
import re
import unittest

from promises import ALARM_TOPIC, Promises, delivered, listed, named, properties, statements
from template import PAYMENTS, ROOT

BACKGROUND = ["Charge", "Reconcile", "Relay", "Sweep"]
ALL = ["PaymentApi", *BACKGROUND]
TOPIC = PAYMENTS.required["DomainEventsTopicArn"]
SECRET = PAYMENTS.required["GatewaySecretArn"]

# The permissions of each function, without logging. An action with `in transactions` is denied outside of a transaction.
IN_TRANSACTIONS = "in transactions"
READ_AND_SETTLE = {
    "dynamodb:GetItem": {"<Payments.Arn>", "<Locks.Arn>"},
    "dynamodb:UpdateItem": {"<Payments.Arn> in transactions", "<Locks.Arn>"},
    "dynamodb:PutItem": {"<Outbox.Arn> in transactions"},
    "secretsmanager:GetSecretValue": {SECRET},
}
PUBLISH = {
    "sns:Publish": {TOPIC},
    "dynamodb:BatchWriteItem": {"<Outbox.Arn>"},
}
ANSWER = {
    "dynamodb:BatchGetItem": {"<Payments.Arn>", "<Idempotency.Arn>"},
    "dynamodb:GetItem": {"<Payments.Arn>", "<Idempotency.Arn>"},
    "dynamodb:PutItem": {"<Payments.Arn> in transactions", "<Outbox.Arn> in transactions", "<Idempotency.Arn>"},
    "dynamodb:UpdateItem": {"<Payments.Arn> in transactions"},
}
# The locked mode takes locks, and calls the gateway in the request.
ANSWER_LOCKED = ANSWER | {
    "dynamodb:GetItem": {"<Payments.Arn>", "<Idempotency.Arn>", "<Locks.Arn>"},
    "dynamodb:UpdateItem": {"<Payments.Arn> in transactions", "<Idempotency.Arn> in transactions", "<Locks.Arn>"},
    "dynamodb:ConditionCheckItem": {"<Locks.Arn>"},
    "secretsmanager:GetSecretValue": {SECRET},
}
MAY = {
    "PaymentApi": ANSWER,
    "Charge": READ_AND_SETTLE
    | {action: {"<ChargeQueue.Arn>"} for action in ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]},
    "Reconcile": READ_AND_SETTLE | {"dynamodb:Query": {"<Payments.Arn>/index/open-charges"}},
    "Relay": PUBLISH
    | {
        action: {"<Outbox.StreamArn>"}
        for action in ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
    }
    | {"dynamodb:ListStreams": {"<Outbox.Arn>/stream/*"}, "sqs:SendMessage": {"<RelayFailed.Arn>"}},
    "Sweep": PUBLISH | {"dynamodb:Scan": {"<Outbox.Arn>"}},
}


class Payments(Promises, unittest.TestCase):
    template = PAYMENTS
    prefix = "ftgo-payments"
    api, api_name = "PaymentApi", "payment-api"
    for_everybody = ("/payments/health", "/payments/openapi.json")
    sections = (
        "behind",
        "charge-dead-letters",
        "charges-overdue",
        "failing",
        "gateway-refused-us",
        "gateway-unknown",
        "not-running",
        "outbox-backlog",
        "poison-rows",
        "relay-behind",
        "relay-failed",
        "server-errors",
        "slow-responses",
        "table-throttled",
        "throttled",
    )
    new_versions = (
        ("HandlerMemory=512", BACKGROUND),
        ("LogLevel=DEBUG", ALL),
        ("Tracing=Active", ALL),
        ("Architecture=x86_64", ALL),
        ("ChargeMode=locked", ["PaymentApi"]),
        ("ReconcileAfterSeconds=60", ["Reconcile"]),
        ("SweepAfterSeconds=60", ["Sweep"]),
        ("ConsumerIdClaim=id", ["PaymentApi"]),
        ("ApiReservedConcurrency=50", ["PaymentApi"]),
        ("GatewayUrl=https://another.example", ["PaymentApi", "Charge", "Reconcile"]),
        ("DomainEventsTopicArn=arn:aws:sns:eu-west-1:123456789012:another", ["Relay", "Sweep"]),
    )
    config_envs = (("development", "payments"), ("staging", "payments-staging"), ("production", "payments-production"))
    tables = ("PAYMENTS_TABLE", "OUTBOX_TABLE", "LOCKS_TABLE", "IDEMPOTENCY_TABLE")

    def test_it_shares_only_the_topic_with_order_history(self):
        text = json.dumps(self.development.template["Resources"])
        self.assertNotIn("order-history", text)
        self.assertNotIn("Fn::ImportValue", text)
        self.assertEqual({}, self.development.of_type("AWS::SNS::Topic"))

    def test_another_api_gets_the_routes_only_on_request_and_each_with_a_token(self):
        front = "a1b2c3d4e5"
        self.assertNotIn("Front", json.dumps(self.development.resources))
        with_front = self.template.with_parameters(FrontApiId=front)
        added = {name: with_front.resources[name] for name in with_front.resources.keys() - self.development.resources.keys()}
        self.assertTrue(added and all(name.startswith("Front") for name in added))
        # The other resources stay unchanged.
        kept = {name: with_front.resources[name] for name in self.development.resources}
        self.assertEqual(self.development.resources, kept)

        authorizer = dict(with_front.of_type("AWS::ApiGatewayV2::Authorizer")["FrontAuthorizer"])
        own = with_front.of_type("AWS::ApiGatewayV2::Authorizer")["JwtAuthorizer"]
        # It trusts the issuer of this service, not the other API's issuer.
        self.assertEqual(own | {"ApiId": front, "Name": "ftgo-payments-jwt"}, authorizer)
        routes = {name: route for name, route in properties(with_front, "AWS::ApiGatewayV2::Route") if route["ApiId"] == front}
        for name, route in routes.items():
            with self.subTest(name):
                self.assertEqual(("JWT", "<FrontAuthorizer>"), (route["AuthorizationType"], route["AuthorizerId"]))
                self.assertEqual("integrations/<FrontIntegration>", route["Target"])
        with_token = [
            route["RouteKey"]
            for _, route in properties(self.development, "AWS::ApiGatewayV2::Route")
            if route["AuthorizationType"] == "JWT"
        ]
        self.assertEqual([*with_token, "ANY /payments/health"], [route["RouteKey"] for route in routes.values()])
        source = with_front.of_type("AWS::Lambda::Permission")["FrontPermission"]["SourceArn"]
        self.assertEqual(f"arn:aws:execute-api:eu-west-1:123456789012:{front}/*/*/payment*", source)
        for name, resource in added.items():
            if resource["Type"] != "AWS::Lambda::Permission":
                with self.subTest(name):
                    self.assertEqual(front, resource["Properties"]["ApiId"])

    def test_every_function_has_exactly_the_permissions_that_it_needs(self):
        locked = self.template.with_parameters(ChargeMode="locked")
        for stack, name, may in [*((self.development, *each) for each in MAY.items()), (locked, "PaymentApi", ANSWER_LOCKED)]:
            with self.subTest(name):
                found = {}
                for statement in statements(stack, f"Role{name}"):
                    condition = statement.get("Condition")
                    if condition is not None:
                        transactions = {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}
                        self.assertEqual({"ForAnyValue:StringEquals": transactions}, condition)
                    for action in listed(statement["Action"]):
                        where = statement["Resource"] + (f" {IN_TRANSACTIONS}" if condition else "")
                        found.setdefault(action, set()).add(where)
                self.assertEqual({f"<LogGroup{name}.Arn>"}, found.pop("logs:CreateLogStream"))
                self.assertEqual({f"<LogGroup{name}.Arn>"}, found.pop("logs:PutLogEvents"))
                self.assertEqual(may, found)

    def test_only_requested_charges_reach_the_charge_queue(self):
        self.assertEqual(["ChargeQueue"], delivered(self.development, "PaymentIntentChargeRequested"))
        for other in ["PaymentIntentCharged", "PaymentIntentChargeFailed", "OrderCreated", "BulkPaymentIntentChargeRequested"]:
            self.assertEqual([], delivered(self.development, other))

    def test_a_message_of_the_charge_queue_stays_invisible_while_it_is_processed(self):
        queue = self.development.of_type("AWS::SQS::Queue")["ChargeQueue"]
        mapping = self.development.of_type("AWS::Lambda::EventSourceMapping")["ChargeQueueMapping"]
        self.assertEqual("<ChargeQueue.Arn>", mapping["EventSourceArn"])
        self.assertEqual("<ChargeAliaslive>", mapping["FunctionName"])
        self.assertEqual(["ReportBatchItemFailures"], mapping["FunctionResponseTypes"])
        timeout = self.development.of_type("AWS::Lambda::Function")["Charge"]["Timeout"]
        self.assertGreaterEqual(queue["VisibilityTimeout"], 6 * timeout)
        behind = self.production.of_type("AWS::CloudWatch::Alarm")["ChargeBehind"]["Threshold"]
        self.assertGreater(behind, 3 * queue["VisibilityTimeout"])

    def test_the_relay_reads_inserts_of_the_outbox_and_a_bad_row_blocks_the_others_only_for_a_short_time(self):
        mapping = self.development.of_type("AWS::Lambda::EventSourceMapping")["RelayStreamMapping"]
        self.assertEqual("<Outbox.StreamArn>", mapping["EventSourceArn"])
        self.assertEqual("<RelayAliaslive>", mapping["FunctionName"])
        patterns = [json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]]
        self.assertEqual([{"eventName": ["INSERT"]}], patterns)
        # The largest PublishBatch.
        self.assertEqual(10, mapping["BatchSize"])
        self.assertEqual(["ReportBatchItemFailures"], mapping["FunctionResponseTypes"])
        self.assertTrue(mapping["BisectBatchOnFunctionError"])
        self.assertLessEqual(mapping["MaximumRetryAttempts"], 10)
        # A stream keeps records for a day, so the retries must end well before.
        self.assertLessEqual(mapping["MaximumRecordAgeInSeconds"], 6 * 3600)
        self.assertEqual("<RelayFailed.Arn>", mapping["DestinationConfig"]["OnFailure"]["Destination"])
        outbox = self.development.of_type("AWS::DynamoDB::Table")["Outbox"]
        self.assertEqual({"StreamViewType": "NEW_IMAGE"}, outbox["StreamSpecification"])
        # A time to live would delete unpublished rows.
        self.assertNotIn("TimeToLiveSpecification", outbox)

    def test_only_schedules_may_start_the_reconciler_and_the_sweeper(self):
        for stack, rates in [
            (self.development, {"Reconcile": "rate(5 minutes)", "Sweep": "rate(1 minute)"}),
            (self.everything, {"Reconcile": "rate(1 minute)", "Sweep": "rate(5 minutes)"}),
        ]:
            for name, rate in rates.items():
                with self.subTest(f"{name} {rate}"):
                    rule = stack.of_type("AWS::Events::Rule")[f"{name}Rule"]
                    self.assertEqual(rate, rule["ScheduleExpression"])
                    self.assertEqual([f"<{name}Aliaslive>"], [target["Arn"] for target in rule["Targets"]])
                    permission = stack.of_type("AWS::Lambda::Permission")[f"{name}Permission"]
                    self.assertEqual(f"<{name}Rule.Arn>", permission["SourceArn"])
                    self.assertEqual(f"<{name}Aliaslive>", permission["FunctionName"])
                    (config,) = [
                        config
                        for config in stack.of_type("AWS::Lambda::EventInvokeConfig").values()
                        if config["FunctionName"] == f"<{name}>"
                    ]
                    self.assertEqual(0, config["MaximumRetryAttempts"])
        # The alarm on failures of scheduled functions counts periods of five minutes, so every period must have a run.
        for parameter in ["ReconcileSchedule", "SweepSchedule"]:
            for rate in self.template.source["Parameters"][parameter]["AllowedValues"]:
                self.assertLessEqual(int(re.fullmatch(r"rate\((\d) minutes?\)", rate)[1]), 5)

    def test_the_gateways_url_must_be_https_except_for_a_stand_in(self):
        pattern = self.template.source["Parameters"]["GatewayUrl"]["AllowedPattern"]
        for url in [
            "https://gateway.example",
            "https://gateway.example:8443/v1",
            "http://127.0.0.1:3002",
            "http://localhost:3002",
            "http://host.docker.internal:3002",
            "http://172.17.0.1:41234/x",
            "http://192.168.1.20:3002",
            "http://10.0.0.7",
        ]:
            self.assertRegex(url, pattern)
        for url in [
            "",
            "gateway.example",
            "http://gateway.example",
            "http://8.8.8.8",
            "http://172.32.0.1",
            "http://10.gateway.example",
            "https://gateway.example/",
            "https://gateway.example/?key=secret",
            "ftp://127.0.0.1",
        ]:
            self.assertNotRegex(url, pattern)

    def test_the_functions_get_the_values_of_the_parameters(self):
        gateway = {"GATEWAY_URL": "https://gateway.example", "GATEWAY_SECRET_ARN": SECRET}
        tables = {"PAYMENTS_TABLE": "<Payments>", "OUTBOX_TABLE": "<Outbox>", "LOCKS_TABLE": "<Locks>"}
        expected = {
            "PaymentApi": tables
            | gateway
            | {"AUTHORIZATION": "jwt", "CONSUMER_ID_CLAIM": "sub", "CHARGE_MODE": "saga", "IDEMPOTENCY_TABLE": "<Idempotency>"},
            "Charge": tables | gateway,
            "Reconcile": tables | gateway | {"RECONCILE_AFTER_SECONDS": "300"},
            "Relay": {"OUTBOX_TABLE": "<Outbox>", "TOPIC_ARN": TOPIC},
            "Sweep": {"OUTBOX_TABLE": "<Outbox>", "TOPIC_ARN": TOPIC, "SWEEP_AFTER_SECONDS": "300"},
        }
        for name, variables in expected.items():
            with self.subTest(name):
                function = self.development.of_type("AWS::Lambda::Function")[name]
                found = function["Environment"]["Variables"]
                self.assertEqual(variables, {variable: found.get(variable) for variable in variables})
        # Only publishing functions get the topic, only charging ones the gateway, and only the API the table of idempotency records.
        particular = {"TOPIC_ARN", "IDEMPOTENCY_TABLE", *gateway}
        for name, function in properties(self.development, "AWS::Lambda::Function"):
            with self.subTest(name):
                self.assertEqual(set(expected[name]) & particular, set(function["Environment"]["Variables"]) & particular)
        for stack, memory, concurrency, reserved in [(self.development, 256, 10, None), (self.everything, 512, 50, "50")]:
            functions = stack.of_type("AWS::Lambda::Function")
            self.assertEqual({memory}, {int(functions[name]["MemorySize"]) for name in BACKGROUND})
            mapping = stack.of_type("AWS::Lambda::EventSourceMapping")["ChargeQueueMapping"]
            self.assertEqual(concurrency, int(mapping["ScalingConfig"]["MaximumConcurrency"]))
            self.assertEqual(reserved, functions["PaymentApi"].get("ReservedConcurrentExecutions"))

    def test_sns_and_secrets_manager_use_awss_endpoints_by_default(self):
        there = self.template.with_parameters(SnsEndpoint="https://sns.example", SecretsManagerEndpoint="https://sm.example")
        for variable, endpoint, functions in [
            ("AWS_ENDPOINT_URL_SNS", "https://sns.example", ["Relay", "Sweep"]),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", "https://sm.example", ["PaymentApi", "Charge", "Reconcile"]),
        ]:
            for stack, expected in [(self.development, None), (there, endpoint)]:
                for name, function in properties(stack, "AWS::Lambda::Function"):
                    with self.subTest(f"{name} {variable}"):
                        found = function["Environment"]["Variables"].get(variable)
                        self.assertEqual(expected if name in functions else None, found)

    def test_every_function_and_table_has_its_alarms(self):
        alarms = self.production.of_type("AWS::CloudWatch::Alarm")
        for name, function in properties(self.production, "AWS::Lambda::Function"):
            for kind, metric in [("Failing", "Errors"), ("Throttled", "Throttles")]:
                with self.subTest(kind + name):
                    alarm = alarms[f"{kind}{name}"]
                    self.assertEqual(metric, alarm["MetricName"])
                    self.assertEqual([{"Name": "FunctionName", "Value": f"<{name}>"}], alarm["Dimensions"])
                    self.assertTrue(alarm["AlarmName"].startswith(f"{function['FunctionName']}-"))
        for name in self.production.of_type("AWS::DynamoDB::Table"):
            alarm = alarms[f"{name}TableThrottled"]
            self.assertEqual([{"Name": "TableName", "Value": f"<{name}>"}], alarm["Dimensions"])
        for queue in ["ChargeDlq", "RelayFailed"]:
            watched = [a for a in alarms.values() if {"Name": "QueueName", "Value": f"<{queue}.QueueName>"} in a["Dimensions"]]
            self.assertEqual(["ApproximateNumberOfMessagesVisible"], [alarm["MetricName"] for alarm in watched])

    def test_the_alarm_on_the_backlog_gives_the_sweeper_enough_time(self):
        alarm = self.production.of_type("AWS::CloudWatch::Alarm")["OutboxBacklog"]
        oldest = self.template.source["Parameters"]["SweepAfterSeconds"]["MaxValue"]
        # The sweeper starts at least every five minutes.
        self.assertGreaterEqual(alarm["Threshold"], oldest + 300)

    def test_the_latency_limit_is_higher_where_responses_wait_for_the_gateway(self):
        for mode, threshold in [("saga", 3000), ("locked", 10000)]:
            stack = self.template.with_parameters(ChargeMode=mode, AlarmTopicArn=ALARM_TOPIC)
            self.assertEqual(threshold, stack.of_type("AWS::CloudWatch::Alarm")["SlowResponses"]["Threshold"])

    def test_a_role_has_its_policies_before_its_function_is_created(self):
        for name, function in properties(self.development, "AWS::Lambda::Function"):
            role = named(function["Role"])
            attached = [p for p, policy in properties(self.development, "AWS::IAM::Policy") if f"<{role}>" in policy["Roles"]]
            with self.subTest(name):
                self.assertTrue(attached)
                self.assertEqual(sorted(attached), sorted(listed(self.development.resources[name]["DependsOn"])))

    def test_the_build_makes_the_binaries_of_the_template(self):
        build = (ROOT / "ops/build").read_text()
        for name, function in properties(self.development, "AWS::Lambda::Function"):
            with self.subTest(name):
                self.assertIn(function["Code"]["S3Key"].rstrip("/").rpartition("/")[2], build)


if __name__ == "__main__":
    unittest.main()
