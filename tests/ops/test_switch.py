"""`make switch`, on an emulator of AWS."""

import json
import unittest

from emulator import emulator
from local_system import make

STACK, OWN = "ftgo-order-history", "ftgo-order-history"
INDEX = "ftgo-order-history-by-consumer-id-and-creation-time"


def stack(stage):
    """The part of the template that a switch changes; Other represents every other parameter."""
    defaults = {"Stage": stage, "Prefix": OWN, "ServedTable": "", "ServedIndex": INDEX, "Other": "default"}
    serves = {"Fn::If": ["ServesOther", {"Ref": "ServedTable"}, OWN]}
    return {
        "Parameters": {name: {"Type": "String", "Default": value} for name, value in defaults.items()},
        "Conditions": {"ServesOther": {"Fn::Not": [{"Fn::Equals": [{"Ref": "ServedTable"}, ""]}]}},
        "Resources": {
            "Query": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "query", "Type": "String", "Value": serves}},
            "Rest": {
                "Type": "AWS::SSM::Parameter",
                "Properties": {"Name": "rest", "Type": "String", "Value": {"Ref": "Other"}},
            },
        },
        "Outputs": {"ServedTable": {"Value": serves}, "OrderHistoryTable": {"Value": OWN}},
    }


class Switch(unittest.TestCase):
    def setUp(self):
        self.aws = self.enterContext(emulator())
        self.cloudformation, self.ssm = self.aws.client("cloudformation"), self.aws.client("ssm")

    def deploy(self, name, stage):
        given = [{"ParameterKey": "Other", "ParameterValue": "given"}]
        self.cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(stack(stage)), Parameters=given)
        self.cloudformation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})

    def create_table(self, name, index=INDEX):
        keys = ["orderId", "consumerId"]
        self.aws.client("dynamodb").create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[{"AttributeName": "orderId", "KeyType": "HASH"}],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": index,
                    "KeySchema": [{"AttributeName": "consumerId", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )

    def switch(self, table, *arguments, code=0, stage="development", stdin=""):
        given = ["switch", f"TABLE={table}", f"STAGE={stage}", *arguments]
        output, ended = make(*given, stdin=stdin, **self.aws.environment)
        self.assertEqual(code, ended, output.decode())
        return output.decode()

    def values(self):
        return [self.ssm.get_parameter(Name=name)["Parameter"]["Value"] for name in ["query", "rest"]]

    def test_a_switch_and_its_undo_change_nothing_else(self):
        self.deploy(STACK, "development")
        self.create_table(f"{OWN}-v2")
        said = self.switch(f"{OWN}-v2")
        self.assertIn(f"the query function of {STACK} reads {OWN}-v2\n", said)
        self.assertIn("to switch back: make switch STAGE=development STACK=order-history TABLE=own\n", said)
        self.assertEqual([f"{OWN}-v2", "given"], self.values())
        self.assertIn(f"already reads {OWN}-v2", self.switch(f"{OWN}-v2"))
        said = self.switch("own")
        self.assertIn(f"to switch back: make switch STAGE=development STACK=order-history TABLE={OWN}-v2\n", said)
        self.assertEqual([OWN, "given"], self.values())

    def test_an_unreadable_table_is_rejected(self):
        self.deploy(STACK, "development")
        self.create_table(f"{OWN}-v3", index="another")
        for table, expected in [
            ("", "TABLE is missing"),
            ("orders", f"can read only tables whose names begin with {OWN}-v"),
            (f"{OWN}-v2", "this table does not exist"),
            (f"{OWN}-v3", f"its index {INDEX} is missing"),
        ]:
            with self.subTest(expected):
                self.assertIn(expected, self.switch(table, code=2))
        self.assertEqual([OWN, "given"], self.values())
        self.assertIn("is not deployed", self.switch("own", code=2, stage="staging"))
        self.assertIn("only order-history has a table to switch", self.switch("own", "STACK=payments", code=2))

    def test_production_asks_first(self):
        name = f"{STACK}-production"
        self.deploy(name, "production")
        self.create_table(f"{OWN}-v2")
        self.assertIn("nothing was changed", self.switch(f"{OWN}-v2", stage="production", code=2))
        self.assertEqual([OWN, "given"], self.values())
        self.switch(f"{OWN}-v2", stage="production", stdin=f"{name}\n")
        self.assertEqual(f"{OWN}-v2", self.values()[0])
        self.switch("own", f"YES={name}", stage="production")
        self.assertEqual(OWN, self.values()[0])


if __name__ == "__main__":
    unittest.main()
