"""How to recover from a failed first deployment to production, on an emulator of AWS."""

import json
import os
import time
import unittest
from unittest import mock

import deploy
from emulator import emulator
from local_system import make
from stage import PAYMENTS as PAYMENTS_SERVICE
from stage import SERVICES, Stage

STACK = "ftgo-order-history-production"
PAYMENTS = "ftgo-payments-production"
TABLES = ["ftgo-order-history", "ftgo-order-history-idempotency"]
# Nothing listens there: the check of the issuer is the last one, and fails.
GATEWAY = "GatewayUrl=https://gateway.example GatewaySecretArn=arn:aws:secretsmanager:eu-west-1:000000000000:secret:gateway-x"
PARAMETERS = f"JwtIssuer=http://127.0.0.1:1 JwtAudience=ftgo {GATEWAY}"
KEY = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
TABLE = {"BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": True} | KEY


def template(*more, stage="production"):
    """An order history's stack with the tables of production, and more."""
    kept = {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain"}
    tables = {f"Table{n}": kept | {"Properties": TABLE | {"TableName": name}} for n, name in enumerate(TABLES)}
    parameters = {"Prefix": "ftgo-order-history", "Stage": stage}
    declared = {name: {"Type": "String", "Default": value} for name, value in parameters.items()}
    return json.dumps({"Parameters": declared, "Resources": tables | dict(more)})


class AfterAFailedFirstDeployment(unittest.TestCase):
    def setUp(self):
        self.aws = self.enterContext(emulator())
        self.cloudformation, self.dynamodb = self.aws.client("cloudformation"), self.aws.client("dynamodb")

    def make(self, *arguments, code, stage="production", stdin="", parameters=PARAMETERS):
        given = [f"STAGE={stage}", f"PARAMETERS={parameters}"]
        output, ended = make(*arguments, *given, stdin=stdin, **self.aws.environment)
        self.assertEqual(ended, code, output.decode())
        return output.decode()

    def create(self, name, body, expected):
        self.cloudformation.create_stack(StackName=name, TemplateBody=body)
        for _ in range(600):
            status = self.cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
            if not status.endswith("_IN_PROGRESS"):
                break
            time.sleep(0.1)
        self.assertEqual(status, expected)

    def fail_to_deploy(self):
        properties = {"LogGroupName": "missing", "LogStreamName": "x"}
        bad = {"Type": "AWS::Logs::LogStream", "DependsOn": ["Table0", "Table1"], "Properties": properties}
        self.create(STACK, template(("Bad", bad)), "ROLLBACK_COMPLETE")
        self.assertEqual(self.tables(), TABLES)

    def tables(self):
        return sorted(self.dynamodb.list_tables()["TableNames"])

    def test_deploy_says_how_to_recover_and_it_works(self):
        self.fail_to_deploy()
        for command in ["deploy", "plan", "status"]:
            said = self.make(command, code=0 if command == "status" else 2)
            self.assertIn("ROLLBACK_COMPLETE", said)
            self.assertIn("make delete STAGE=production", said)
            self.assertRegex(said, r"[Ff]irst failure: Bad: ")
        # Only the stack is deleted unless the answer includes the tables.
        said = self.make("delete", stdin=f"{STACK}\n\n", code=0)
        self.assertIn(f"tables: {TABLES[0]} and {TABLES[1]} are kept", said)
        self.assertIn(f"the stack {STACK} is deleted", said)
        self.assertEqual(self.tables(), TABLES)
        # The tables still exist.
        said = self.make("deploy", code=2)
        for name in TABLES:
            self.assertIn(
                f"the table {name} already exists. An earlier deployment left it, and it is empty. Delete it: make delete STAGE=production",
                said,
            )
        self.assertIn(f"the table {TABLES[0]} is deleted", self.make("delete", stdin="empty\n", code=0))
        self.assertEqual(self.tables(), [])
        # The next problem is the issuer: the tables are no longer a problem.
        self.assertIn("SKIP_ISSUER_CHECK=1", self.make("deploy", code=2))

    def test_missing_and_unknown_parameters_are_reported_before_the_build(self):
        for parameters, problem in [
            ("", 'needs JwtIssuer and JwtAudience: make deploy STAGE=production PARAMETERS="JwtIssuer=… JwtAudience=…"'),
            ("JwtAudience=ftgo JwtIssuer=", "needs JwtIssuer: make deploy"),
            ("JwtIsuer=x", "no template has a parameter JwtIsuer"),
            ("JwtIssuer", "a parameter must have the form Name=value"),
            ("JwtAudience=ftgo JwtIssuer=http://127.0.0.1:1", f"{PAYMENTS} needs GatewayUrl and GatewaySecretArn: make deploy"),
            # The message says how to deploy only the order history.
            (
                "JwtAudience=ftgo JwtIssuer=http://127.0.0.1:1",
                "To leave out Payments: make deploy STAGE=production STACK=order-history",
            ),
        ]:
            with self.subTest(problem):
                self.assertIn(problem, self.make("deploy", parameters=parameters, code=2))

    def test_either_stack_can_be_deployed_alone(self):
        # Without a gateway.
        history = self.make("deploy", "STACK=order-history", parameters="JwtIssuer=http://127.0.0.1:1 JwtAudience=ftgo", code=2)
        self.assertIn("SKIP_ISSUER_CHECK=1", history)
        # A stack must provide the topic.
        said = self.make("deploy", "STACK=payments", code=2)
        self.assertIn(f"{PAYMENTS} needs DomainEventsTopicArn: make deploy", said)
        self.assertIn("deploy both: make deploy STAGE=production STACK=all", said)
        topic = "DomainEventsTopicArn=arn:aws:sns:eu-west-1:000000000000:domain-events"
        self.assertIn("SKIP_ISSUER_CHECK=1", self.make("deploy", "STACK=payments", parameters=f"{PARAMETERS} {topic}", code=2))
        # The order history's stack provides it.
        self.create(
            STACK, json.dumps(self.with_outputs(TopicArn="arn:aws:sns:eu-west-1:000000000000:theirs")), "CREATE_COMPLETE"
        )
        self.assertIn("SKIP_ISSUER_CHECK=1", self.make("deploy", "STACK=payments", code=2))
        self.assertIn(
            "STACK=billing: must be one of order-history, payments, all", self.make("deploy", "STACK=billing", code=2)
        )

    def with_outputs(self, **outputs):
        body = json.loads(template())
        return body | {"Outputs": {name: {"Value": value} for name, value in outputs.items()}}

    def test_payments_gets_the_topic_the_pages_api_and_the_issuer_of_the_user_pool(self):
        both = [Stage("production", service) for service in SERVICES]
        history, payments = both
        with mock.patch.dict(os.environ, self.aws.environment):
            self.assertEqual({}, deploy.taken_over(history, "deploy", both))
            # It does not exist yet; a plan can predict only the topic.
            self.assertEqual({}, deploy.taken_over(payments, "deploy", both))
            topic = "arn:aws:sns:eu-west-1:000000000000:domain-events"
            front = {"FrontApiId": "notmadeyet"}
            self.assertRegex(front["FrontApiId"], payments.service.parameters["FrontApiId"]["AllowedPattern"])
            self.assertEqual({"DomainEventsTopicArn": topic} | front, deploy.taken_over(payments, "plan", both))
            history.parameters |= {"DomainEventsTopicArn": f"{topic}-of-theirs", "UserPool": "true"}
            expected = front | {"DomainEventsTopicArn": f"{topic}-of-theirs", "JwtAudience": "not-made-yet"}
            self.assertEqual(
                expected | {"JwtIssuer": "https://not-made-yet.invalid"}, deploy.taken_over(payments, "plan", both)
            )
            outputs = {"TopicArn": topic, "UserPoolIssuer": "https://pool.example", "UserPoolClientId": "client"}
            self.create(STACK, json.dumps(self.with_outputs(HttpApiId="a1b2c3d4e5", **outputs)), "CREATE_COMPLETE")
            expected = {"DomainEventsTopicArn": topic, "JwtIssuer": "https://pool.example", "JwtAudience": "client"}
            expected |= {"FrontApiId": "a1b2c3d4e5"}
            for command in ["deploy", "plan"]:
                self.assertEqual(expected, deploy.taken_over(payments, command, both))
            # Also if Payments is deployed alone.
            self.assertEqual(expected, deploy.taken_over(payments, "deploy", [payments]))

    def test_an_order_history_without_the_page_has_no_api_for_payments(self):
        payments = Stage("production", PAYMENTS_SERVICE)
        topic = "arn:aws:sns:eu-west-1:000000000000:domain-events"
        with mock.patch.dict(os.environ, self.aws.environment):
            self.create(STACK, json.dumps(self.with_outputs(TopicArn=topic)), "CREATE_COMPLETE")
            self.assertEqual({"DomainEventsTopicArn": topic}, deploy.taken_over(payments, "deploy", [payments]))

    def test_delete_deletes_payments_first_and_nothing_without_both_names(self):
        some = {"Resources": {"X": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "x"}}}}
        self.create(PAYMENTS, json.dumps(some), "CREATE_COMPLETE")
        self.create(STACK, template(), "CREATE_COMPLETE")
        said = self.make("delete", f"YES={STACK}", code=2)
        self.assertIn(f"nothing was deleted: YES does not name {PAYMENTS}", said)
        said = self.make("delete", f"YES={STACK},{PAYMENTS}", code=0)
        gone = [said.index(f"the stack {name} is deleted") for name in [PAYMENTS, STACK]]
        self.assertEqual(sorted(gone), gone)

    def test_status_shows_the_deployed_stack(self):
        self.assertIn("is not deployed", self.make("status", code=2))
        self.create(STACK, json.dumps(self.with_outputs(PageUrl="https://orders.example/")), "CREATE_COMPLETE")
        said = self.make("status", code=0)
        self.assertIn(f"{STACK} in eu-west-1: CREATE_COMPLETE", said)
        self.assertIn("page https://orders.example/", said)
        self.assertIn(f"the stack {PAYMENTS} is not deployed", said)
        self.assertIn("is not deployed", self.make("status", "STACK=payments", code=2))

    def test_a_table_with_items_is_never_deleted(self):
        self.fail_to_deploy()
        # The item count of DescribeTable can be hours old.
        self.dynamodb.put_item(TableName=TABLES[0], Item={"id": {"S": "1"}})
        said = self.make("delete", f"YES={STACK}", "TABLES=empty", code=0)
        self.assertIn(f"the table {TABLES[0]} still exists and has items: it is kept", said)
        self.assertEqual(self.tables(), [TABLES[0]])
        self.assertTrue(self.dynamodb.describe_table(TableName=TABLES[0])["Table"]["DeletionProtectionEnabled"])
        said = self.make("deploy", code=2)
        self.assertIn(f"the table {TABLES[0]} already exists. An earlier deployment left it, and it has items", said)

    def test_a_table_of_another_stack_is_not_touched(self):
        self.create("another", template(), "CREATE_COMPLETE")
        said = self.make("deploy", code=2)
        self.assertIn(f"the table {TABLES[0]} belongs to the stack another: choose another Prefix", said)
        said = self.make("delete", f"YES={STACK}", "TABLES=empty", code=0)
        self.assertIn(f"there is no stack {STACK}", said)
        self.assertEqual(self.tables(), TABLES)

    def test_an_empty_table_of_another_stage_is_not_offered(self):
        # Development and production have the same Prefix.
        self.create("ftgo-order-history", template(), "CREATE_COMPLETE")
        self.cloudformation.delete_stack(StackName="ftgo-order-history")
        self.cloudformation.get_waiter("stack_delete_complete").wait(StackName="ftgo-order-history", WaiterConfig={"Delay": 1})
        self.assert_not_offered("the stack ftgo-order-history created it")

    def test_an_empty_table_without_a_stack_is_not_offered(self):
        for name in TABLES:
            self.dynamodb.create_table(TableName=name, **TABLE)
        self.assert_not_offered("no stack created it")

    def assert_not_offered(self, reason):
        said = self.make("deploy", code=2)
        self.assertIn(f"the table {TABLES[0]} already exists, and {reason}: choose another Prefix", said)
        for answer in [{"stdin": "empty\n"}, {"stdin": f"{STACK}\nempty\n"}]:
            said = self.make("delete", code=0, **answer)
            self.assertIn(f"the table {TABLES[0]} is kept: {reason}", said)
            self.assertNotIn("Type `empty`", said)
        self.make("delete", f"YES={STACK}", "TABLES=empty", code=0)
        self.assertEqual(self.tables(), TABLES)

    def test_the_question_names_the_topic_and_the_user_pool(self):
        topic = {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "domain-events"}}
        users = {"Type": "AWS::Cognito::UserPool", "Properties": {"UserPoolName": "ftgo"}}
        for stage, stack, fate in [
            ("production", STACK, "is kept, with its users"),
            ("development", "ftgo-order-history", "is deleted, with its users"),
        ]:
            with self.subTest(stage):
                resources = [("DomainEvents", topic), ("Users", users | {"DeletionPolicy": "Retain"})]
                body = json.loads(template(*resources, stage=stage))
                # Both stages have these names.
                del body["Resources"]["Table0"], body["Resources"]["Table1"]
                self.create(stack, json.dumps(body), "CREATE_COMPLETE")
                said = self.make("delete", stage=stage, stdin=f"{stack}\n", code=0)
                question = said.partition("Type the name of the stack")[0]
                self.assertIn(
                    "the topic domain-events is deleted, with all its subscriptions, including those of other services",
                    question,
                )
                pools = self.aws.client("cognito-idp").list_user_pools(MaxResults=10)["UserPools"]
                self.assertRegex(question, rf"the user pool ({'|'.join(pool['Id'] for pool in pools)}) {fate}")

    def test_the_question_for_a_stack_without_topic_and_user_pool_does_not_mention_them(self):
        self.create(STACK, template(), "CREATE_COMPLETE")
        self.assertNotRegex(self.make("delete", stdin=f"{STACK}\n\n", code=0), "topic|user pool")

    def test_nothing_is_deleted_without_the_name(self):
        self.create(STACK, template(), "CREATE_COMPLETE")
        for arguments, stdin in [([], ""), ([], "yes\n"), (["YES=1"], f"{STACK}\n"), (["YES=production"], "")]:
            self.assertIn("nothing was deleted", self.make("delete", *arguments, stdin=stdin, code=2))
        self.cloudformation.update_termination_protection(StackName=STACK, EnableTerminationProtection=True)
        self.assertIn("is protected from deletion", self.make("delete", f"YES={STACK}", code=2))
        self.assertEqual(self.cloudformation.describe_stacks(StackName=STACK)["Stacks"][0]["StackStatus"], "CREATE_COMPLETE")


if __name__ == "__main__":
    unittest.main()
