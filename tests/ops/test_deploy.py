"""What `make deploy` knows before it deploys."""

import contextlib
import io
import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
import checks
import deploy
import stage
from samcli.cli.types import CfnParameterOverridesType


class Overrides(unittest.TestCase):
    def test_sam_reads_every_value_as_it_was_given(self):
        values = ["", "x", "a b", "a,b", 'say "x"', "it's", "a=b", "https://x.example/?a=b&c", "file", "  "]
        for value in values:
            with self.subTest(value):
                read = CfnParameterOverridesType().convert(
                    (deploy.override("Name", value), deploy.override("Other", "y")), None, None
                )
                self.assertEqual(read, {"Name": value, "Other": "y"})

    def test_an_empty_value_is_a_value(self):
        self.assertEqual(stage.assignments(["CorsOrigins=https://a.example", "CorsOrigins="]), {"CorsOrigins": ""})


class Plan(unittest.TestCase):
    def test_what_may_lose_something_comes_first(self):
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
            deploy.show(stage.Stage("production"), changes)
        lines = [" ".join(line.split()) for line in shown.getvalue().splitlines()]
        self.assertEqual(
            lines[1:],
            [
                "dynamic X D",
                "remove X R (the old one: Delete)",
                "replace X T (the old one: ReplaceAndRetain)",
                "may replace X C",
                "modify X M (Code)",
                "add X A",
                "add X \\x1b",
                "Would be 1 dynamic, 1 removed, 1 replaced, 1 perhaps replaced, 1 modified, 2 added. Nothing was changed.",
            ],
        )


class StackStatus(unittest.TestCase):
    def test_every_status_either_can_be_deployed_to_or_has_a_way_out(self):
        model = boto3.client("cloudformation", region_name="eu-west-1").meta.service_model
        production = stage.Stage("production")
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

    def test_the_tables_names_are_those_of_the_template(self):
        self.assertEqual(stage.table_names("x"), ["x", "x-idempotency"])


@contextlib.contextmanager
def issuer(document, code=200, path="/.well-known/openid-configuration"):
    """The URL of an issuer with this discovery document; `{url}` in it is its own."""

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
    def test_one_that_says_who_it_is_and_where_its_keys_are_is_good(self):
        with issuer(discovery()) as url:
            self.assertIsNone(checks.issuer_problem(url))

    def test_a_path_is_a_part_of_its_name(self):
        with issuer(discovery(issuer="{url}/pool"), path="/pool/.well-known/openid-configuration") as url:
            self.assertIsNone(checks.issuer_problem(f"{url}/pool"))

    def test_one_whose_name_ends_with_a_slash_is_good_with_it_only(self):
        with issuer(discovery(issuer="{url}/")) as url:
            self.assertIsNone(checks.issuer_problem(f"{url}/"))
            problem = checks.issuer_problem(url)
        self.assertIn("slash at the end", problem)
        self.assertTrue(problem.endswith(f"set JwtIssuer={url}/"), problem)

    def test_a_slash_too_many_is_told(self):
        with issuer(discovery()) as url:
            problem = checks.issuer_problem(f"{url}/")
        self.assertTrue(problem.endswith(f"set JwtIssuer={url}"), problem)

    def test_another_name_is_told(self):
        with issuer(discovery(issuer="https://other.example")) as url:
            self.assertIn("set JwtIssuer=https://other.example", checks.issuer_problem(url))

    def test_what_is_no_discovery_document_is_told(self):
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

    def test_one_that_cannot_be_asked_is_told_with_the_way_around(self):
        with issuer(discovery(), code=500) as url:
            self.assertIn("answers 500", checks.issuer_problem(url))
        # Nobody listens there any more.
        self.assertIn("SKIP_ISSUER_CHECK=1", checks.issuer_problem(url))


if __name__ == "__main__":
    unittest.main()
