"""Checks of both templates, after their expansion as in CloudFormation."""

import graphlib
import json
import re
import tomllib

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from template import EVERY_OPTION, ROOT

# CloudFormation's limit is 500. There must be room for more resources; one event type has 16.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
MOST_RESOURCES = 450

ALARM_TOPIC = EVERY_OPTION["AlarmTopicArn"]
KEY = EVERY_OPTION["KmsKeyArn"]
BOUNDARY = EVERY_OPTION["PermissionsBoundaryArn"]
CERTIFICATE = EVERY_OPTION["CertificateArn"]
GRADUAL = "Canary10Percent10Minutes"


def properties(stack, resource_type):
    found = stack.of_type(resource_type)
    assert found, f"no {resource_type}"
    return found.items()


def maps(value, path=""):
    """Every map in a value, with its path."""
    if isinstance(value, dict):
        yield path, value
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []:
        yield from maps(item, f"{path}/{name}")


def listed(value):
    return value if isinstance(value, list) else [value]


def named(reference):
    """The logical id of the resource in a Ref or an ARN."""
    return reference.strip("<>").partition(".")[0]


def encryption(bucket):
    """The default encryption of a bucket."""
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    return rule["ServerSideEncryptionByDefault"]


def statements(stack, role):
    """The statements of a role: of its own policies and of attached ones."""
    own = stack.of_type("AWS::IAM::Role")[role].get("Policies", [])
    attached = [policy for policy in stack.of_type("AWS::IAM::Policy").values() if f"<{role}>" in policy["Roles"]]
    return [statement for policy in [*own, *attached] for statement in policy["PolicyDocument"]["Statement"]]


def allowed(stack, role):
    """The actions of a role, each with its resources."""
    found = {}
    for statement in statements(stack, role):
        for action in listed(statement["Action"]):
            found.setdefault(action, set()).update(listed(statement["Resource"]))
    return found


def metrics(alarm):
    """The metrics of an alarm, each with its Namespace, MetricName and Dimensions: its own, or those in its expression."""
    return (
        [each["MetricStat"]["Metric"] for each in alarm["Metrics"] if "MetricStat" in each] if "Metrics" in alarm else [alarm]
    )


def started(stack):
    """The logical ids of the functions that a state machine starts."""
    machines = stack.of_type("AWS::StepFunctions::StateMachine").values()
    return {name for machine in machines for name in re.findall(r"<(\w+?)Version\w+>", json.dumps(machine))}


def graph(stack):
    """The dependencies of each resource."""
    return {
        name: {found for found in re.findall(r"<(\w+)", json.dumps(resource)) if found in stack.resources}
        | set(listed(resource.get("DependsOn", [])))
        for name, resource in stack.resources.items()
    }


def delivered(stack, event_type):
    """The queues that get a message with this event-type from the topic."""
    return [
        named(subscription["Endpoint"])
        for subscription in stack.of_type("AWS::SNS::Subscription").values()
        if "FilterPolicy" not in subscription
        or any(
            event_type.endswith(rule["suffix"]) if isinstance(rule, dict) else event_type == rule
            for rule in subscription["FilterPolicy"]["event-type"]
        )
    ]


class Promises:
    """The attributes that each template's test class sets."""

    # The template.
    template = None
    # The default prefix of names.
    prefix = ""
    # The logical id and the name of the HTTP function.
    api = ""
    api_name = ""
    # The paths without a token. All others need one.
    for_everybody = ()
    # The sections of the runbook that alarms link to.
    sections = ()
    # The functions that get a new version with this value of the parameter.
    new_versions = ()
    # Parameters, and whether CloudFormation rejects them.
    contradictions = ()
    # The sections of samconfig.toml, by stage.
    config_envs = ()
    # The table variable of each function that has one, in the order of the tables.
    tables = ()

    @classmethod
    def setUpClass(cls):
        cls.development = cls.template.with_parameters()
        cls.production = cls.template.with_parameters(
            Stage="production",
            AlarmTopicArn=ALARM_TOPIC,
            Rollout=GRADUAL,
            CorsOrigins="https://a.example,https://b.example",
        )
        cls.everything = cls.template.with_parameters(**cls.template.every_option)

    def loops(self):
        """The variable and the body of every loop of the template."""
        resources = self.template.source["Resources"]
        found = [loop for name, loop in resources.items() if name.startswith("Fn::ForEach::")]
        self.assertTrue(found)
        return [(variable, body) for variable, _, body in found]

    def test_the_number_of_resources_is_below_the_limit(self):
        for stage, stack in [
            ("development", self.development),
            ("production", self.production),
            ("all options", self.everything),
        ]:
            print(f"{self.template.file.name}: {len(stack.resources)} resources in {stage}")
            self.assertLessEqual(len(stack.resources), MOST_RESOURCES)

    def test_there_are_no_circular_dependencies(self):
        # The linters do not see a gradual rollout, in which an alias depends on alarms, and alarms depend on a version.
        for stack in [self.development, self.production, self.everything]:
            waits = graph(stack)
            self.assertEqual(len(stack.resources), len(list(graphlib.TopologicalSorter(waits).static_order())))
        for name in self.everything.of_type("AWS::CodeDeploy::DeploymentGroup"):
            self.assertTrue([found for found in waits[name] if found.startswith("NewVersionFailing")])

    # The next three: open bugs of the LanguageExtensions transform, which cannot be run on this machine.
    # https://github.com/aws-cloudformation/cfn-language-discussion/issues/147 and 156

    def test_no_map_in_a_loop_begins_with_condition(self):
        for _, body in self.loops():
            for path, found in maps(body):
                with self.subTest(path):
                    self.assertNotEqual("Condition", next(iter(found), None))

    # https://github.com/aws-cloudformation/cfn-language-discussion/issues/160
    def test_there_is_no_depends_on_below_properties(self):
        resources = self.template.source["Resources"]
        outside = {name: resource for name, resource in resources.items() if not name.startswith("Fn::ForEach::")}
        for some in [outside, *(body for _, body in self.loops())]:
            for name, resource in some.items():
                for path, found in maps(resource["Properties"]):
                    with self.subTest(name + path):
                        self.assertNotIn("DependsOn", found)

    # sam renders such a reference as the text of the map, `{'Ref': 'Name'}`.
    def test_no_text_contains_references_to_resources(self):
        for path, found in maps(self.template.source["Resources"]):
            if isinstance(found.get("Fn::Sub"), list):
                with self.subTest(path):
                    for _, value in maps(found["Fn::Sub"][1]):
                        self.assertNotIn("Fn::GetAtt", value)
                        self.assertNotIn("Fn::If", value)
                        self.assertNotIn(value.get("Ref"), self.template.source["Resources"])

    # https://github.com/aws-cloudformation/cfn-language-discussion/issues/151
    def test_texts_in_a_loop_use_only_functions_that_language_extensions_resolves(self):
        known = {*self.template.source["Parameters"], "AWS::Region", "AWS::AccountId", "AWS::Partition"}
        for variable, body in self.loops():
            for path, found in maps(body):
                if "Fn::Sub" in found:
                    text, own = (found["Fn::Sub"], {}) if isinstance(found["Fn::Sub"], str) else found["Fn::Sub"]
                    with self.subTest(path):
                        self.assertEqual(set(), set(re.findall(r"\$\{([^}!]+)\}", text)) - known - {variable, *own})

    def test_a_changed_parameter_is_rolled_out_as_a_new_version(self):
        def versions(**parameters):
            return set(self.template.with_parameters(**parameters).of_type("AWS::Lambda::Version"))

        for assignment, functions in self.new_versions:
            with self.subTest(assignment):
                changed = versions(**dict([assignment.split("=")])) - versions()
                self.assertEqual(sorted(functions), sorted(re.sub(r"Version\w+$", "", version) for version in changed))

    def test_each_stage_has_its_own_names(self):
        stack = self.template.with_parameters(Prefix="ftgo-another-staging", AlarmTopicArn=ALARM_TOPIC, Rollout=GRADUAL)
        for resource_type, called in [
            ("AWS::SQS::Queue", "QueueName"),
            ("AWS::DynamoDB::Table", "TableName"),
            ("AWS::Lambda::Function", "FunctionName"),
            ("AWS::CloudWatch::Alarm", "AlarmName"),
            ("AWS::CloudWatch::Dashboard", "DashboardName"),
            ("AWS::S3::Bucket", "BucketName"),
            ("AWS::StepFunctions::StateMachine", "StateMachineName"),
        ]:
            for name, resource in stack.of_type(resource_type).items():
                with self.subTest(name):
                    self.assertTrue(resource[called].startswith("ftgo-another-staging"))
        longest = self.template.with_parameters(Prefix="x" * 35)
        for name, function in properties(longest, "AWS::Lambda::Function"):
            with self.subTest(name):
                self.assertLessEqual(len(function["FunctionName"]), 64)
        for name, queue in properties(longest, "AWS::SQS::Queue"):
            with self.subTest(name):
                self.assertLessEqual(len(queue["QueueName"]), 80)

    def test_a_failed_message_is_kept_for_fourteen_days(self):
        queues = self.development.of_type("AWS::SQS::Queue")
        # Dead-letter queues and on-failure queues.
        last = {
            named(mapping["DestinationConfig"]["OnFailure"]["Destination"])
            for mapping in self.development.of_type("AWS::Lambda::EventSourceMapping").values()
            if "DestinationConfig" in mapping
        }
        for name, queue in properties(self.development, "AWS::SQS::Queue"):
            with self.subTest(name):
                if "RedrivePolicy" in queue:
                    self.assertGreaterEqual(queue["RedrivePolicy"]["maxReceiveCount"], 5)
                    target = named(queue["RedrivePolicy"]["deadLetterTargetArn"])
                    self.assertLess(queue["MessageRetentionPeriod"], queues[target]["MessageRetentionPeriod"])
                    last.add(target)
        self.assertEqual({n for n, q in queues.items() if "RedrivePolicy" not in q}, last)
        for name in last:
            with self.subTest(name):
                self.assertEqual(14 * 86400, queues[name]["MessageRetentionPeriod"])

    def test_queues_are_encrypted_and_accept_only_the_topics_messages_over_tls(self):
        subscriptions = self.development.of_type("AWS::SNS::Subscription").values()
        from_topic = {named(each["Endpoint"]): each["TopicArn"] for each in subscriptions}
        from_topic |= {named(each["RedrivePolicy"]["deadLetterTargetArn"]): each["TopicArn"] for each in subscriptions}
        policies = {
            named(queue): policy["PolicyDocument"]["Statement"]
            for _, policy in properties(self.development, "AWS::SQS::QueuePolicy")
            for queue in policy["Queues"]
        }
        for name, queue in properties(self.development, "AWS::SQS::Queue"):
            with self.subTest(name):
                self.assertTrue(queue["SqsManagedSseEnabled"])
                self.assertNotIn("KmsMasterKeyId", queue)
                for statement in policies[name]:
                    self.assertEqual(f"<{name}.Arn>", statement["Resource"])
                *allows, deny = policies[name]
                self.assertEqual(("Deny", "sqs:*", "*"), (deny["Effect"], deny["Action"], deny["Principal"]))
                self.assertEqual({"Bool": {"aws:SecureTransport": "false"}}, deny["Condition"])
                self.assertEqual(name in from_topic, bool(allows))
                for allow in allows:
                    self.assertEqual({"ArnEquals": {"aws:SourceArn": from_topic[name]}}, allow["Condition"])
                    self.assertEqual({"Service": "sns.amazonaws.com"}, allow["Principal"])
                    self.assertEqual(("Allow", "sqs:SendMessage"), (allow["Effect"], allow["Action"]))

    def test_a_queues_policy_exists_before_its_subscription(self):
        waits = graph(self.development)
        policies = {named(policy["Queues"][0]): name for name, policy in properties(self.development, "AWS::SQS::QueuePolicy")}
        for name, subscription in properties(self.development, "AWS::SNS::Subscription"):
            for arn in [subscription["Endpoint"], subscription["RedrivePolicy"]["deadLetterTargetArn"]]:
                with self.subTest(name + arn):
                    self.assertIn(policies[named(arn)], waits[name])

    def test_an_existing_topic_is_used(self):
        topic = "arn:aws:sns:eu-west-1:123456789012:theirs"
        stack = self.template.with_parameters(DomainEventsTopicArn=topic)
        self.assertEqual({}, stack.of_type("AWS::SNS::Topic"))
        for name, subscription in properties(stack, "AWS::SNS::Subscription"):
            with self.subTest(name):
                self.assertEqual(topic, subscription["TopicArn"])
        for name, policy in properties(stack, "AWS::SQS::QueuePolicy"):
            for statement in policy["PolicyDocument"]["Statement"]:
                if statement["Effect"] == "Allow":
                    with self.subTest(name):
                        self.assertEqual(topic, statement["Condition"]["ArnEquals"]["aws:SourceArn"])

    def test_a_message_with_more_than_ten_attributes_is_delivered(self):
        # With raw delivery the message would be dropped.
        for name, subscription in properties(self.development, "AWS::SNS::Subscription"):
            with self.subTest(name):
                self.assertFalse(subscription["RawMessageDelivery"])

    def test_every_function_has_its_own_role_with_named_actions_on_named_resources(self):
        for stack in [self.development, self.everything]:
            roles = [name for name in stack.of_type("AWS::IAM::Role") if name != "CodeDeployRole"]
            used = [named(function["Role"]) for function in stack.of_type("AWS::Lambda::Function").values()]
            used += [named(machine["RoleArn"]) for machine in stack.of_type("AWS::StepFunctions::StateMachine").values()]
            self.assertEqual(sorted(roles), sorted(used))
            for name in roles:
                with self.subTest(name):
                    self.assertNotIn("ManagedPolicyArns", stack.of_type("AWS::IAM::Role")[name])
                    for statement in statements(stack, name):
                        self.assertFalse([action for action in listed(statement["Action"]) if "*" in action])
                        if "*" in listed(statement["Resource"]):
                            actions = set(listed(statement["Action"]))
                            actions -= {"xray:GetSamplingRules", "xray:GetSamplingTargets"}
                            self.assertEqual({"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, actions)

    def test_a_permissions_boundary_is_on_every_role_if_it_is_set(self):
        for name, role in properties(self.everything, "AWS::IAM::Role"):
            with self.subTest(name):
                self.assertEqual(BOUNDARY, role["PermissionsBoundary"])
        for name, role in properties(self.production, "AWS::IAM::Role"):
            with self.subTest(name):
                self.assertNotIn("PermissionsBoundary", role)

    def test_a_custom_kms_key_is_used_by_all_stores_and_readers(self):
        kept = {
            "AWS::DynamoDB::Table": lambda table: table["SSESpecification"].get("KMSMasterKeyId"),
            "AWS::SQS::Queue": lambda queue: queue.get("KmsMasterKeyId"),
            "AWS::SNS::Topic": lambda topic: topic["KmsMasterKeyId"].replace("alias/aws/sns", "") or None,
            "AWS::Logs::LogGroup": lambda log_group: log_group.get("KmsKeyId"),
            "AWS::S3::Bucket": lambda bucket: encryption(bucket).get("KMSMasterKeyID"),
        }
        for stack, key in [(self.everything, KEY), (self.production, None)]:
            for resource_type, used in kept.items():
                for name, resource in stack.of_type(resource_type).items():
                    with self.subTest(name):
                        self.assertEqual(key, used(resource))
            for name, queue in properties(stack, "AWS::SQS::Queue"):
                with self.subTest(name):
                    self.assertEqual(key is None, "SqsManagedSseEnabled" in queue)
            for name, _ in properties(stack, "AWS::IAM::Role"):
                if name == "CodeDeployRole":
                    continue
                with self.subTest(name):
                    keys = allowed(stack, name).get("kms:Decrypt", {None})
                    self.assertEqual({key}, keys)
                    actions = {action.partition(":")[2] for action in allowed(stack, name)}
                    writes = {"PutItem", "UpdateItem", "BatchWriteItem", "PutObject"} & actions
                    if writes:
                        self.assertEqual({key}, allowed(stack, name).get("kms:GenerateDataKey", {None}))
            ((_, policy),) = properties(stack, "AWS::IAM::ManagedPolicy")
            keys = [s["Resource"] for s in policy["PolicyDocument"]["Statement"] if "kms:Decrypt" in s["Action"]]
            self.assertEqual([key] if key else [], keys)

    def test_a_custom_kms_key_can_be_used_only_through_the_services_that_store_the_data(self):
        roles = {name: statements(self.everything, name) for name in self.everything.of_type("AWS::IAM::Role")}
        (policy,) = self.everything.of_type("AWS::IAM::ManagedPolicy").values()
        for name, some in [*roles.items(), ("OperatorPolicy", policy["PolicyDocument"]["Statement"])]:
            services = {action.split(":")[0] for statement in some for action in listed(statement["Action"])}
            for statement in some:
                if listed(statement["Resource"]) == [KEY]:
                    with self.subTest(name):
                        ((operator, keys),) = statement["Condition"].items()
                        self.assertEqual(("StringLike", ["kms:ViaService"]), (operator, list(keys)))
                        through = {
                            re.fullmatch(r"(\w+)\.eu-west-1\.\*", service)[1] for service in listed(keys["kms:ViaService"])
                        }
                        keep_data = {"dynamodb", "s3", "secretsmanager", "sns", "sqs"}
                        self.assertLessEqual(services & keep_data, through)
                        self.assertLessEqual(through, keep_data)

    def test_tracing_is_off_by_default(self):
        for stack, mode in [(self.development, "PassThrough"), (self.everything, "Active")]:
            for name, function in properties(stack, "AWS::Lambda::Function"):
                with self.subTest(f"{name} {mode}"):
                    self.assertEqual({"Mode": mode}, function["TracingConfig"])
                    self.assertEqual(mode == "Active", "xray:PutTraceSegments" in allowed(stack, named(function["Role"])))

    def test_an_operator_may_only_read_and_redrive(self):
        (policy,) = self.development.of_type("AWS::IAM::ManagedPolicy").values()
        self.assertEqual("<OperatorPolicy>", self.development.outputs["OperatorPolicyArn"])
        last = {
            f"<{name}.Arn>"
            for name, queue in self.development.of_type("AWS::SQS::Queue").items()
            if "RedrivePolicy" not in queue
        }
        changes = {"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage", "sqs:SendMessage"}
        changes |= {"sqs:StartMessageMoveTask", "sqs:CancelMessageMoveTask"}
        # The other actions of `make status`, `logs`, `dlq`, `drop` and `redrive`.
        needed = {"cloudformation:DescribeStacks", "cloudformation:DescribeStackEvents", "cloudformation:ListStackResources"}
        needed |= {"cloudwatch:GetMetricData", "cloudwatch:DescribeAlarms", "logs:FilterLogEvents"}
        needed |= {"sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:ListMessageMoveTasks"} | changes
        seen = set()
        for statement in policy["PolicyDocument"]["Statement"]:
            resources = listed(statement["Resource"])
            for action in listed(statement["Action"]):
                with self.subTest(action):
                    looks = re.fullmatch(r"\w+:(Get|List|Describe)\w+|logs:FilterLogEvents|logs:StartLiveTail", action)
                    self.assertTrue(looks or action in changes)
                    self.assertNotIn(action.split(":")[0], ["dynamodb", "lambda", "iam"])
                    if action.startswith("cloudformation:"):
                        self.assertTrue(all("stack/ftgo-stack/" in resource for resource in resources))
                    elif not action.startswith("cloudwatch:"):
                        self.assertTrue(all(self.prefix in resource or resource in last for resource in resources))
                    if action in ["sqs:DeleteMessage", "sqs:ReceiveMessage"]:
                        self.assertTrue(all(resource.endswith("-dlq") or resource in last for resource in resources))
            seen |= set(listed(statement["Action"]))
        self.assertEqual(set(), needed - seen)

    def test_the_metrics_of_two_stages_are_separate(self):
        stack = self.template.with_parameters(Prefix="ftgo-staging", AlarmTopicArn=ALARM_TOPIC, Rollout=GRADUAL)
        for _, function in properties(stack, "AWS::Lambda::Function"):
            self.assertEqual("ftgo-staging", function["Environment"]["Variables"]["METRICS_NAMESPACE"])
        alarms = stack.of_type("AWS::CloudWatch::Alarm").values()
        spaces = {metric["Namespace"] for alarm in alarms for metric in metrics(alarm)}
        self.assertEqual({"ftgo-staging"}, {space for space in spaces if not space.startswith("AWS/")})
        shown = self.shown(stack)
        expressions = [e["expression"] for m in shown for e in m if isinstance(e, dict) and "expression" in e]
        searched = {space for e in expressions for space in re.findall(r"\{([^,}]+),", e)}
        # In quotes, because of the hyphens.
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html
        self.assertEqual({'"ftgo-staging"'}, {space for space in searched if not space.startswith("AWS/")})
        spaces = {m[0] for m in shown if isinstance(m[0], str) and m[0] not in [".", "..."]}
        self.assertLessEqual({space for space in spaces if not space.startswith("AWS/")}, {"ftgo-staging"})

    def shown(self, stack):
        """The metrics of the dashboard."""
        (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
        widgets = json.loads(dashboard["DashboardBody"])["widgets"]
        return [metric for widget in widgets for metric in widget["properties"]["metrics"]]

    def test_every_function_logs_json_to_a_log_group_with_retention(self):
        log_groups = self.development.of_type("AWS::Logs::LogGroup")
        for name, function in properties(self.development, "AWS::Lambda::Function"):
            with self.subTest(name):
                log_group = log_groups[named(function["LoggingConfig"]["LogGroup"])]
                self.assertIn("RetentionInDays", log_group)
                self.assertEqual(f"/aws/lambda/{function['FunctionName']}", log_group["LogGroupName"])
                self.assertEqual("JSON", function["LoggingConfig"]["LogFormat"])
                self.assertEqual(["arm64"], function["Architectures"])
                self.assertEqual("provided.al2023", function["Runtime"])

    # https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
    def test_the_functions_filter_their_log_lines_and_lambda_drops_none(self):
        for level in ["DEBUG", "INFO", "WARN", "ERROR"]:
            self.assertIn(level, self.template.source["Parameters"]["LogLevel"]["AllowedValues"])
            for name, function in properties(self.template.with_parameters(LogLevel=level), "AWS::Lambda::Function"):
                with self.subTest(level + name):
                    self.assertEqual(level, function["Environment"]["Variables"]["LOG_LEVEL"])
                    self.assertEqual("TRACE", function["LoggingConfig"]["ApplicationLogLevel"])
                    self.assertEqual("WARN", function["LoggingConfig"]["SystemLogLevel"])
        for name, function in properties(self.development, "AWS::Lambda::Function"):
            with self.subTest(name):
                self.assertEqual("INFO", function["Environment"]["Variables"]["LOG_LEVEL"])

    def test_the_dashboard_shows_a_count_that_was_not_published_as_zero(self):
        expressions = [
            e["expression"] for m in self.shown(self.development) for e in m if isinstance(e, dict) and "expression" in e
        ]
        ours = [e for e in expressions if f'"{self.prefix}",' in e and "'Sum', 60" in e]
        self.assertTrue(ours)
        for count in ours:
            with self.subTest(count):
                self.assertRegex(count, r"^(SUM\()?FILL\(SEARCH\([^)]*\), 0\)\)?$")

    def test_tables_are_kept_in_production_and_deleted_with_the_stack_elsewhere(self):
        for stack, policy, is_protected in [(self.development, "Delete", False), (self.production, "Retain", True)]:
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
        for name, table in properties(self.template.with_parameters(DeletionProtection="true"), "AWS::DynamoDB::Table"):
            with self.subTest(name):
                self.assertTrue(table["DeletionProtectionEnabled"])

    def test_a_gradual_rollout_is_rolled_back_by_alarms_on_the_new_version(self):
        for resource_type in ["AWS::CodeDeploy::DeploymentGroup", "AWS::CloudWatch::Alarm"]:
            self.assertEqual({}, self.development.of_type(resource_type))
        alarms = self.production.of_type("AWS::CloudWatch::Alarm")
        groups = self.production.of_type("AWS::CodeDeploy::DeploymentGroup")
        aliases = self.production.of_type("AWS::Lambda::Alias")
        # A state machine invokes its functions by version.
        own = started(self.production)
        for name, function in properties(self.production, "AWS::Lambda::Function"):
            if name in own:
                continue
            with self.subTest(name):
                alias = self.production.resources[f"{name}Aliaslive"]
                self.assertIn("CodeDeployLambdaAliasUpdate", alias["UpdatePolicy"])
                # The version of the alias: the one that is rolled out.
                version = alias["Properties"]["FunctionVersion"]
                self.assertRegex(version, rf"^<{name}Version\w+\.Version>$")
                group = groups[f"{name}DeploymentGroup"]
                self.assertEqual(f"CodeDeployDefault.Lambda{GRADUAL}", group["DeploymentConfigName"])
                self.assertEqual("<CodeDeployRole.Arn>", group["ServiceRoleArn"])
                self.assertTrue(group["AlarmConfiguration"]["Enabled"])
                watched = [alarms[alarm["Name"].strip("<>")] for alarm in group["AlarmConfiguration"]["Alarms"]]
                dimensions = [{d["Name"]: d["Value"] for d in alarm["Dimensions"]} for alarm in watched]
                called = function["FunctionName"]
                of_lambda = {"FunctionName": called, "Resource": f"{called}:live", "ExecutedVersion": version}
                of_responses = {"Function": self.api_name, "Version": version}
                self.assertEqual([of_lambda, of_responses] if name == self.api else [of_lambda], dimensions)
                for alarm in watched:
                    self.assertEqual("notBreaching", alarm["TreatMissingData"])
        self.assertEqual(len(aliases) - len(own), len(groups))

    def test_every_alarm_has_an_action(self):
        rollback = {
            a["Name"]
            for g in self.production.of_type("AWS::CodeDeploy::DeploymentGroup").values()
            for a in g["AlarmConfiguration"]["Alarms"]
        }
        for name, alarm in properties(self.production, "AWS::CloudWatch::Alarm"):
            with self.subTest(name):
                # Missing data is a failure only for scheduled functions.
                missing = "breaching" if metrics(alarm)[0]["MetricName"] == "Invocations" else "notBreaching"
                self.assertEqual(missing, alarm["TreatMissingData"])
                if f"<{name}>" in rollback:
                    # CodeDeploy uses it.
                    self.assertNotIn("AlarmActions", alarm)
                else:
                    self.assertEqual([ALARM_TOPIC], alarm["AlarmActions"])
                    self.assertEqual([ALARM_TOPIC], alarm["OKActions"])
        unheard = self.template.with_parameters(Rollout=GRADUAL).of_type("AWS::CloudWatch::Alarm")
        self.assertEqual(rollback, {f"<{name}>" for name in unheard})

    def test_an_alarm_fires_if_a_schedule_no_longer_starts_its_function(self):
        # The function's own metrics are then missing, and its other alarms do not fire.
        alarms = {
            alarm["Dimensions"][0]["Value"]: alarm
            for alarm in self.production.of_type("AWS::CloudWatch::Alarm").values()
            if (alarm.get("Namespace"), alarm.get("MetricName")) == ("AWS/Lambda", "Invocations")
        }
        rules = self.production.of_type("AWS::Events::Rule").values()
        started = {target["Arn"].replace("Aliaslive", "") for rule in rules for target in rule["Targets"]}
        self.assertEqual(started, set(alarms))
        for function, alarm in alarms.items():
            with self.subTest(function):
                self.assertEqual([{"Name": "FunctionName", "Value": function}], alarm["Dimensions"])
                self.assertEqual(
                    ("Sum", "LessThanThreshold", 1), tuple(alarm[n] for n in ["Statistic", "ComparisonOperator", "Threshold"])
                )
                # At least two runs are due in this period, so that one late run does not cause an alarm.
                self.assertGreaterEqual(alarm["Period"] * alarm["EvaluationPeriods"], 2 * 300)

    def test_alarm_descriptions_have_the_problem_and_a_link_to_the_runbook(self):
        linked = set()
        for stack, runbook in [(self.production, "docs/runbook.md"), (self.everything, "https://wiki.example/runbook")]:
            for name, alarm in properties(stack, "AWS::CloudWatch::Alarm"):
                with self.subTest(name):
                    text, section = alarm["AlarmDescription"].split(f" See {runbook}#")
                    self.assertGreater(len(text), 30)
                    self.assertTrue(alarm["AlarmName"].endswith(section))
                    linked.add(section)
        self.assertEqual(set(self.sections), linked)
        runbook = (ROOT / "docs/runbook.md").read_text()
        headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.+)$", runbook, re.MULTILINE)}
        self.assertLessEqual(linked | set(re.findall(r"\(#([^)]+)\)", runbook)), headings)

    def test_contradicting_parameters_are_rejected(self):
        for parameters, refused in [
            ({}, False),
            ({"Stage": "production"}, True),
            ({"Stage": "production", "AlarmTopicArn": ALARM_TOPIC}, False),
            ({"DomainName": "a.example", "CertificateArn": CERTIFICATE}, False),
            ({"DomainName": "a.example"}, True),
            ({"CertificateArn": CERTIFICATE}, True),
            ({"HostedZoneId": "Z123"}, True),
            *self.contradictions,
        ]:
            with self.subTest(parameters):
                self.assertEqual(refused, len(self.template.with_parameters(**parameters).refusals) == 1)
        self.assertEqual([], self.everything.refusals)

    def test_the_api_can_have_a_custom_domain_name(self):
        self.assertEqual("<HttpApi.ApiEndpoint>", self.development.outputs["ApiUrl"])
        self.assertEqual("https://api.ftgo.example", self.everything.outputs["ApiUrl"])
        without_zone = self.template.with_parameters(DomainName="a.example", CertificateArn=CERTIFICATE)
        for stack, domains, records in [(self.development, 0, 0), (without_zone, 1, 0), (self.everything, 1, 1)]:
            self.assertEqual(domains, len(stack.of_type("AWS::ApiGatewayV2::DomainName")))
            self.assertEqual(domains, len(stack.of_type("AWS::ApiGatewayV2::ApiMapping")))
            self.assertEqual(records, len(stack.of_type("AWS::Route53::RecordSet")))

    def test_routes_without_a_token_have_their_own_rate(self):
        (stage,) = self.development.of_type("AWS::ApiGatewayV2::Stage").values()
        routes = self.development.of_type("AWS::ApiGatewayV2::Route")
        open_routes = {name: route["RouteKey"] for name, route in routes.items() if route["AuthorizationType"] == "NONE"}
        self.assertEqual(sorted(open_routes.values()), sorted(stage["RouteSettings"]))
        for key, settings in stage["RouteSettings"].items():
            with self.subTest(key):
                self.assertLess(settings["ThrottlingRateLimit"], int(stage["DefaultRouteSettings"]["ThrottlingRateLimit"]))
                self.assertLess(settings["ThrottlingBurstLimit"], int(stage["DefaultRouteSettings"]["ThrottlingBurstLimit"]))
        # API Gateway rejects settings of a route that does not exist yet.
        self.assertEqual(sorted(open_routes), sorted(self.development.resources["HttpStage"]["DependsOn"]))

    def test_only_listed_routes_and_preflights_need_no_token(self):
        for stack in [self.development, self.everything]:
            routes = [route for _, route in properties(stack, "AWS::ApiGatewayV2::Route") if route["ApiId"] == "<HttpApi>"]
            keys = [route["RouteKey"] for route in routes]
            self.assertLess({f"ANY {path}" for path in self.for_everybody}, set(keys))
            for route in routes:
                method, path = route["RouteKey"].split(" ")
                with self.subTest(route["RouteKey"]):
                    if method == "OPTIONS" or path in self.for_everybody:
                        self.assertEqual("NONE", route["AuthorizationType"])
                        self.assertNotIn("AuthorizerId", route)
                    else:
                        self.assertEqual(("JWT", "<JwtAuthorizer>"), (route["AuthorizationType"], route["AuthorizerId"]))
                        self.assertIn(f"OPTIONS {path}", keys)

    def test_the_functions_timeout_is_shorter_than_api_gateways(self):
        for name, integration in properties(self.everything, "AWS::ApiGatewayV2::Integration"):
            with self.subTest(name):
                self.assertEqual(f"<{self.api}Aliaslive>", integration["IntegrationUri"])
                timeout = self.everything.of_type("AWS::Lambda::Function")[self.api]["Timeout"]
                self.assertGreater(integration["TimeoutInMillis"], 1000 * timeout)
                # API Gateway's limit.
                self.assertLessEqual(integration["TimeoutInMillis"], 30000)

    def test_each_permission_of_api_gateway_is_for_one_api_and_one_function(self):
        arn = "arn:aws:execute-api:eu-west-1:123456789012"
        for stack in [self.development, self.everything]:
            permissions = [
                permission
                for _, permission in properties(stack, "AWS::Lambda::Permission")
                if permission["Principal"] == "apigateway.amazonaws.com"
            ]
            apis = {route["ApiId"] for _, route in properties(stack, "AWS::ApiGatewayV2::Route")}
            allowed_to = [permission["SourceArn"] for permission in permissions]
            self.assertEqual(sorted(apis), sorted(source.removeprefix(f"{arn}:").partition("/")[0] for source in allowed_to))
            self.assertIn(f"{arn}:<HttpApi>/*/*", allowed_to)
            for permission in permissions:
                self.assertEqual(f"<{self.api}Aliaslive>", permission["FunctionName"])
                self.assertEqual("lambda:InvokeFunction", permission["Action"])

    def test_cors_is_off_by_default(self):
        self.assertNotIn("CorsConfiguration", self.development.of_type("AWS::ApiGatewayV2::Api")["HttpApi"])
        cors = self.production.of_type("AWS::ApiGatewayV2::Api")["HttpApi"]["CorsConfiguration"]
        self.assertEqual(["https://a.example", "https://b.example"], cors["AllowOrigins"])

    def test_json_inside_yaml_is_valid(self):
        self.assertTrue(self.shown(self.development))
        for name, stage in properties(self.development, "AWS::ApiGatewayV2::Stage"):
            with self.subTest(name):
                self.assertIn("requestId", json.loads(stage["AccessLogSettings"]["Format"]))

    def test_dynamodb_uses_awss_endpoint_by_default(self):
        there = self.template.with_parameters(DynamoDbEndpoint="https://dynamodb.example")
        for stack, endpoint in [(self.development, None), (there, "https://dynamodb.example")]:
            for name, function in properties(stack, "AWS::Lambda::Function"):
                with self.subTest(name):
                    uses_it = any(action.startswith("dynamodb:") for action in allowed(stack, named(function["Role"])))
                    found = function["Environment"]["Variables"].get("AWS_ENDPOINT_URL_DYNAMODB")
                    self.assertIn(found, [endpoint] if uses_it else [endpoint, None])

    def test_sam_local_runs_every_function_on_the_tables_of_make_run(self):
        endpoint = "http://host.docker.internal:8000"
        tables = [table["TableName"] for table in self.development.of_type("AWS::DynamoDB::Table").values()]
        names = dict(zip(self.tables, tables, strict=True))
        sam = self.sam_local(DynamoDbEndpoint=endpoint, Architecture="x86_64")
        for name, function in properties(self.development, "AWS::Lambda::Function"):
            if not {*names} & {*function["Environment"]["Variables"]}:
                continue
            with self.subTest(name):
                config = sam.get_invoke_config(sam.get_function(function["FunctionName"]))
                self.assertEqual(("provided.al2023", "x86_64"), (config.runtime, config.architecture))
                self.assertEqual(function["Handler"], config.handler)
                self.assertEqual(str(ROOT / function["Code"]["S3Key"]).rstrip("/"), config.code_abs_path)
                variables = config.env_vars.resolve()
                self.assertEqual(endpoint, variables["AWS_ENDPOINT_URL_DYNAMODB"])
                found = {variable: variables[variable] for variable in names if variable in variables}
                self.assertEqual({variable: names[variable] for variable in found}, found)
                self.assertTrue(found)

    def sam_local(self, **parameters):
        """The parameters of `sam local invoke` in samconfig.toml."""
        config = tomllib.loads((ROOT / "samconfig.toml").read_text())[dict(self.config_envs)["development"]]
        options = config["local_invoke"]["parameters"]
        stacks, _ = SamLocalStackProvider.get_stacks(
            str(self.template.file),
            parameter_overrides=self.template.required | parameters,
            language_extensions_enabled=options["language_extensions"],
        )
        variables = json.loads((ROOT / options["env_vars"]).read_text())
        functions = SamFunctionProvider(stacks)
        return LocalLambdaRunner(None, functions, str(ROOT), str(ROOT), aws_region="eu-west-1", env_vars_values=variables)

    def test_samconfig_sets_only_existing_parameters(self):
        config = tomllib.loads((ROOT / "samconfig.toml").read_text())
        for stage, config_env in self.config_envs:
            section = config[config_env]
            self.assertEqual(self.template.file.name, section["global"]["parameters"]["template_file"])
            given = dict(assignment.split("=", 1) for assignment in section["deploy"]["parameters"]["parameter_overrides"])
            self.assertEqual(stage, given["Stage"])
            for parameter in given:
                with self.subTest(f"{config_env} {parameter}"):
                    self.assertIn(parameter, self.template.source["Parameters"])
