"""The checks of `make deploy` before it deploys."""

import contextlib
import io
import json
import os
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import boto3
import checks
import deploy
import stage
from samcli.cli.types import CfnParameterOverridesType


class Overrides(unittest.TestCase):
    def test_sam_gets_every_value_unchanged(self):
        values = ["", "x", "a b", "a,b", 'say "x"', "it's", "a=b", "https://x.example/?a=b&c", "file", "  "]
        for value in values:
            with self.subTest(value):
                read = CfnParameterOverridesType().convert(
                    (deploy.override("Name", value), deploy.override("Other", "y")), None, None
                )
                self.assertEqual(read, {"Name": value, "Other": "y"})

    def test_values_that_sam_would_read_as_other_parameters_are_rejected(self):
        for value in ["x\\", 'x\\" Stage=production Y="1', "ParameterKey=Stage,ParameterValue=production"]:
            with self.subTest(value), self.assertRaisesRegex(SystemExit, "^CorsOrigins: "):
                deploy.override("CorsOrigins", value)

    def test_an_empty_value_is_a_value(self):
        self.assertEqual(stage.assignments(["CorsOrigins=https://a.example", "CorsOrigins="]), {"CorsOrigins": ""})


class Parameters(unittest.TestCase):
    """How $PARAMETERS are distributed to the stacks."""

    def given(self, text, services=tuple(stage.SERVICES)):
        with mock.patch.dict(os.environ, {"PARAMETERS": text}):
            return stage.given_parameters(list(services))

    def assert_refused(self, text, *reasons, services=tuple(stage.SERVICES)):
        with self.assertRaises(SystemExit) as ended:
            self.given(text, services)
        for reason in reasons:
            self.assertIn(reason, str(ended.exception))

    def test_each_stack_gets_the_parameters_that_it_has(self):
        given = self.given("JwtIssuer=x ReadBudget=7 GatewayUrl=y")
        self.assertEqual({"JwtIssuer": "x", "ReadBudget": "7"}, given["order-history"])
        self.assertEqual({"JwtIssuer": "x", "GatewayUrl": "y"}, given["payments"])

    def test_a_parameter_for_one_stack_overrides_the_general_one_in_any_order(self):
        for text in ["LogLevel=WARN payments.LogLevel=DEBUG", "payments.LogLevel=DEBUG LogLevel=WARN"]:
            given = self.given(text)
            self.assertEqual(("WARN", "DEBUG"), (given["order-history"]["LogLevel"], given["payments"]["LogLevel"]))

    def test_an_unknown_parameter_is_reported_with_both_lists(self):
        for text in ["JwtIsuer=x", "payments.ReadBudget=7", "order-history.GatewayUrl=x"]:
            self.assert_refused(
                text, text.split("=")[0], "template.yaml (order-history) has Stage", "payments.yaml (payments) has Stage"
            )
        self.assert_refused("billing.LogLevel=DEBUG", "order-history or payments")

    def test_an_unclosed_quotation_mark_is_reported(self):
        self.assert_refused("JwtIssuer=it's", "PARAMETERS")

    def test_parameters_that_would_clash_must_be_given_for_each_stack(self):
        for name in ["Prefix", "DomainName"]:
            self.assert_refused(f"{name}=x", f"order-history.{name}=… payments.{name}=…")
            self.assertEqual({name: "x"}, self.given(f"{name}=x", [stage.PAYMENTS])["payments"])
            given = self.given(f"order-history.{name}=x payments.{name}=y")
            self.assertEqual([{name: "x"}, {name: "y"}], [given["order-history"], given["payments"]])

    def test_parameters_of_a_stack_that_is_not_chosen_are_ignored(self):
        self.assertEqual(
            {"order-history": {"LogLevel": "DEBUG"}}, self.given("LogLevel=DEBUG GatewayUrl=x", [stage.ORDER_HISTORY])
        )


class Stacks(unittest.TestCase):
    def chosen(self, **environment):
        with mock.patch.dict(os.environ, environment):
            return [each.stack_name for each in stage.chosen_stages(or_local=False)]

    def test_both_stacks_are_used_unless_one_is_chosen(self):
        both = ["ftgo-order-history-staging", "ftgo-payments-staging"]
        for stack, expected in [("", both), ("all", both), ("order-history", both[:1]), ("payments", both[1:])]:
            self.assertEqual(expected, self.chosen(STAGE="staging", STACK=stack))
        with self.assertRaisesRegex(SystemExit, "STACK=billing: must be one of order-history, payments, all"):
            self.chosen(STACK="billing")

    def test_every_stack_has_its_own_names_and_folder(self):
        stages = [stage.Stage(name, service) for name in stage.STAGES for service in stage.SERVICES]
        for names in [
            [each.stack_name for each in stages],
            [each.s3_prefix for each in stages],
            [each.plan_prefix for each in stages],
        ]:
            self.assertEqual(6, len(set(names)))

    def test_yes_names_the_stacks(self):
        for yes, expected in [("a", True), ("b", False), ("", False), ("b a", True), ("b,a", True), ("ab", False)]:
            with self.subTest(yes), mock.patch.dict(os.environ, {"YES": yes}):
                self.assertEqual(expected, stage.confirmed("a"))

    def test_a_function_belongs_to_one_stack(self):
        with mock.patch.dict(os.environ, {"FN": "relay", "STAGE": "local"}):
            service, name = stage.chosen_function(lambda service: service.functions)
            self.assertEqual(("payments", "relay"), (service.name, name))
            self.assertEqual("ftgo-payments-relay", stage.stage_of(service).called(name))
        with (
            mock.patch.dict(os.environ, {"FN": "relay", "STACK": "order-history"}),
            self.assertRaisesRegex(SystemExit, "STACK=order-history excludes FN=relay, which is a function of payments"),
        ):
            stage.stage_of(service)
        names = [name for each in stage.SERVICES for name in each.functions]
        self.assertEqual(len(names), len(set(names)))


class Plan(unittest.TestCase):
    def test_changes_that_may_lose_data_come_first(self):
        changes = [
            ("Add", "A", {}),
            ("Modify", "M", {"Replacement": "False", "Details": [{"Target": {"Attribute": "Properties", "Name": "Code"}}]}),
            ("Modify", "C", {"Replacement": "Conditional"}),
            ("Modify", "T", {"Replacement": "True", "PolicyAction": "ReplaceAndRetain"}),
            ("Dynamic", "D", {}),
            ("Remove", "R", {"PolicyAction": "Delete"}),
            ("Add", "\x1b", {}),
        ]
        changes = [{"Action": action, "LogicalResourceId": name, "ResourceType": "X"} | more for action, name, more in changes]
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            deploy.show(stage.Stage("production", stage.ORDER_HISTORY), changes)
        lines = [" ".join(line.split()) for line in shown.getvalue().splitlines()]
        self.assertEqual(
            lines[1:],
            [
                "dynamic X D",
                "remove X R (old resource: Delete)",
                "replace X T (old resource: ReplaceAndRetain)",
                "may replace X C",
                "modify X M (Code)",
                "add X A",
                "add X \\x1b",
                "Plan: 1 dynamic, 1 removed, 1 replaced, 1 perhaps replaced, 1 modified, 2 added. Nothing was changed.",
            ],
        )


class StackStatus(unittest.TestCase):
    def test_every_stack_status_allows_a_deployment_or_has_instructions(self):
        model = boto3.client("cloudformation", region_name="eu-west-1").meta.service_model
        production = stage.Stage("production", stage.ORDER_HISTORY)
        problems = {status: checks.stack_problem(production, status) for status in model.shape_for("StackStatus").enum}
        ready = {status for status, problem in problems.items() if problem is None}
        self.assertEqual(ready, set(checks.READY))
        self.assertIn("make delete STAGE=production", problems["ROLLBACK_COMPLETE"])
        self.assertIn("make delete STAGE=production", problems["ROLLBACK_FAILED"])
        self.assertIn("make delete STAGE=production", problems["DELETE_FAILED"])
        self.assertIn("continue-update-rollback --stack-name ftgo-order-history-production", problems["UPDATE_ROLLBACK_FAILED"])
        for status, problem in problems.items():
            if status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
                self.assertIn("Wait", problem, status)

    def test_the_tables_have_the_names_of_the_template(self):
        self.assertEqual(stage.ORDER_HISTORY.table_names("x"), ["x", "x-idempotency"])
        self.assertEqual(stage.PAYMENTS.table_names("x"), ["x", "x-outbox", "x-locks", "x-idempotency"])

    def test_the_functions_and_queues_have_the_names_of_the_template(self):
        self.assertEqual(stage.PAYMENTS.functions, ["payment-api", "charge", "reconcile", "relay", "sweep"])
        names = [name for pair in stage.PAYMENTS.queues.values() for name in pair if name]
        resources = stage.PAYMENTS.template["Resources"].values()
        queues = [each for each in resources if isinstance(each, dict) and each["Type"] == "AWS::SQS::Queue"]
        self.assertEqual({f"${{Prefix}}-{name}" for name in names}, {q["Properties"]["QueueName"]["Fn::Sub"] for q in queues})


@contextlib.contextmanager
def issuer(document, code=200, path="/.well-known/openid-configuration"):
    """The URL of an issuer with this discovery document; `{url}` in it is replaced by that URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(code if self.path == path else 404)
            self.end_headers()
            self.wfile.write(document.replace("{url}", url).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield url
        server.shutdown()


def discovery(**changes):
    members = {"issuer": "{url}", "jwks_uri": "{url}/keys"} | changes
    return json.dumps({name: value for name, value in members.items() if value is not None})


class Issuer(unittest.TestCase):
    def test_an_issuer_with_its_name_and_keys_is_accepted(self):
        with issuer(discovery()) as url:
            self.assertIsNone(checks.issuer_problem(url))

    def test_a_path_is_a_part_of_the_issuers_name(self):
        with issuer(discovery(issuer="{url}/pool"), path="/pool/.well-known/openid-configuration") as url:
            self.assertIsNone(checks.issuer_problem(f"{url}/pool"))

    def test_a_trailing_slash_in_the_issuers_name_is_required(self):
        with issuer(discovery(issuer="{url}/")) as url:
            self.assertIsNone(checks.issuer_problem(f"{url}/"))
            problem = checks.issuer_problem(url)
        self.assertIn("slash at the end", problem)
        self.assertTrue(problem.endswith(f"set JwtIssuer={url}/"), problem)

    def test_an_extra_slash_is_reported(self):
        with issuer(discovery()) as url:
            problem = checks.issuer_problem(f"{url}/")
        self.assertTrue(problem.endswith(f"set JwtIssuer={url}"), problem)

    def test_another_name_is_reported(self):
        with issuer(discovery(issuer="https://other.example")) as url:
            self.assertIn("set JwtIssuer=https://other.example", checks.issuer_problem(url))

    def test_an_invalid_discovery_document_is_reported(self):
        documents = [
            "",
            "<html>",
            "[]",
            "null",
            "[" * 100_000,
            discovery(jwks_uri=None),
            discovery(issuer=None),
            discovery(jwks_uri=7),
        ]
        for document in [*documents, discovery(jwks_uri=""), discovery(jwks_uri="keys")]:
            with self.subTest(document[:40]), issuer(document) as url:
                self.assertIn("/.well-known/openid-configuration", checks.issuer_problem(url))

    def test_an_unreachable_issuer_is_reported_with_a_workaround(self):
        with issuer(discovery(), code=500) as url:
            self.assertIn("returns 500", checks.issuer_problem(url))
        # Nothing listens there any more.
        self.assertIn("SKIP_ISSUER_CHECK=1", checks.issuer_problem(url))


if __name__ == "__main__":
    unittest.main()
