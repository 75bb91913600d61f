"""Checks of template.yaml, in addition to those for both templates."""

import re
import unittest

from promises import ALARM_TOPIC, CERTIFICATE, Promises, delivered, properties
from template import ORDER_HISTORY, ROOT

EVENT_TYPES = re.findall(
    r"^    (\w+) by \w+ carries", (ROOT / "crates/order-history/order-events/src/event.rs").read_text(), re.MULTILINE
)
HANDLERS = [f"Handler{event_type}" for event_type in EVENT_TYPES]
STEPS = [f"Rebuild{step}" for step in ["Plan", "Fold", "Report"]]
ALL = [*HANDLERS, "Archiver", *STEPS, "QueryApi"]


class OrderHistory(Promises, unittest.TestCase):
    template = ORDER_HISTORY
    prefix = "ftgo-order-history"
    api, api_name = "QueryApi", "query-api"
    for_everybody = ("/", "/assets/{file+}", "/config.json", "/health", "/openapi.json")
    sections = (
        "dead-letters",
        "behind",
        "failing",
        "late",
        "server-errors",
        "slow-responses",
        "unreadable-attributes",
        "table-throttled",
        "throttled",
        "archive-dead-letters",
        "archive-behind",
        "nothing-archived",
        "rebuild-failed",
    )
    new_versions = (
        ("HandlerMemory=512", HANDLERS),
        ("LogLevel=DEBUG", ALL),
        ("Tracing=Active", ALL),
        ("Architecture=x86_64", ALL),
        ("ReadBudget=7", ["QueryApi"]),
        ("MaxWaitSeconds=3", ["QueryApi"]),
        ("ConsumerIdClaim=id", ["QueryApi"]),
        ("QueryReservedConcurrency=50", ["QueryApi"]),
        ("Currency=EUR", ["QueryApi"]),
        ("SignInClientId=page", ["QueryApi"]),
        ("ServedTable=ftgo-order-history-v2", ["QueryApi"]),
        ("RebuildMemory=4096", STEPS),
        ("ArchiveBucket=theirs", ["Archiver", *STEPS]),
    )
    contradictions = (
        ({"JwtIssuer": "", "JwtAudience": ""}, True),
        ({"JwtIssuer": ""}, True),
        ({"JwtAudience": ""}, True),
        ({"UserPool": "true", "JwtIssuer": "", "JwtAudience": ""}, False),
        ({"UserPool": "true"}, True),
        ({"UserPool": "true", "JwtAudience": ""}, True),
        ({"UserPool": "true", "JwtIssuer": "", "JwtAudience": "", "SignInClientId": "page"}, True),
        ({"UserPool": "true", "JwtIssuer": "", "JwtAudience": "", "SignInScopes": "openid email"}, False),
        ({"UserPool": "true", "JwtIssuer": "", "JwtAudience": "", "SignInScopes": "openid orders:read-any"}, True),
        ({"SignInClientId": "page"}, False),
        ({"SignInClientId": "page", "SignInAudience": "ftgo", "SignInOrigins": "https://login.example"}, False),
        ({"SignInAudience": "ftgo"}, True),
        ({"SignInOrigins": "https://login.example"}, True),
    )
    config_envs = (("development", "default"), ("staging", "staging"), ("production", "production"))
    tables = ("ORDER_HISTORY_TABLE", "IDEMPOTENCY_TABLE")

    def test_every_event_type_of_the_code_has_a_function_and_a_queue(self):
        self.assertGreaterEqual(len(EVENT_TYPES), 19)
        handlers = [f["Handler"] for f in self.development.of_type("AWS::Lambda::Function").values()]
        self.assertEqual([*EVENT_TYPES, "bootstrap", "Plan", "Fold", "Report", "bootstrap"], handlers)
        queues = [q["QueueName"] for q in self.development.of_type("AWS::SQS::Queue").values()]
        names = [*EVENT_TYPES, "archive"]
        self.assertEqual([f"ftgo-order-history-{name}{dlq}" for name in names for dlq in ["", "-dlq"]], queues)

    def test_every_name_of_an_event_type_reaches_its_queue_and_no_other(self):
        forms = ["{}", "{}Event", "net.chrisrichardson.ftgo.api.events.{}", "net.chrisrichardson.ftgo.api.events.{}Event"]
        for event_type in EVENT_TYPES:
            for form in [*forms, "com.example.Events${}", "com.example.Events${}Event"]:
                found = delivered(self.development, form.format(event_type))
                self.assertEqual([f"Queue{event_type}", "ArchiveQueue"], found)
            for other in [f"Bulk{event_type}", f"{event_type}Late", f"com.example.{event_type}.v2", event_type.lower()]:
                self.assertEqual(["ArchiveQueue"], delivered(self.development, other))

    def test_a_message_stays_invisible_while_it_is_processed(self):
        for window in self.template.source["Parameters"]["BatchingWindow"]["AllowedValues"]:
            stack = self.template.with_parameters(BatchingWindow=window, AlarmTopicArn=ALARM_TOPIC)
            queues = stack.of_type("AWS::SQS::Queue")
            functions = stack.of_type("AWS::Lambda::Function")
            for name, mapping in properties(stack, "AWS::Lambda::EventSourceMapping"):
                if name == "ArchiverQueue":
                    continue
                with self.subTest(f"{name} with a window of {window}"):
                    # SAM's logical id; with another one, a deployed stack could not be updated.
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

    def test_the_functions_get_the_values_of_the_parameters(self):
        for stack, memory, concurrency, wait, reserved in [
            (self.development, 256, 10, "10", None),
            (self.everything, 512, 50, "3", 50),
        ]:
            functions = stack.of_type("AWS::Lambda::Function")
            for name in [*HANDLERS, "QueryApi"]:
                with self.subTest(name):
                    variables = functions[name]["Environment"]["Variables"]
                    self.assertEqual("<OrderHistory>", variables["ORDER_HISTORY_TABLE"])
                    if name != "QueryApi":
                        self.assertEqual("<Idempotency>", variables["IDEMPOTENCY_TABLE"])
                        self.assertEqual(memory, int(functions[name]["MemorySize"]))
            for name, mapping in properties(stack, "AWS::Lambda::EventSourceMapping"):
                with self.subTest(name):
                    expected = 5 if name == "ArchiverQueue" else concurrency
                    self.assertEqual(expected, int(mapping["ScalingConfig"]["MaximumConcurrency"]))
            self.assertEqual(wait, functions["QueryApi"]["Environment"]["Variables"]["MAX_WAIT_SECONDS"])
            self.assertEqual(reserved, reserved and int(functions["QueryApi"]["ReservedConcurrentExecutions"]))
            self.assertEqual(reserved is not None, "ReservedConcurrentExecutions" in functions["QueryApi"])

    def test_with_a_user_pool_no_issuer_is_needed(self):
        stack = self.template.with_parameters(UserPool="true", JwtIssuer="", JwtAudience="")
        for made, issuer, audience in [
            (stack, "https://cognito-idp.eu-west-1.amazonaws.com/<Users>", ["<UsersClient>"]),
            (self.development, "https://issuer.example", ["ftgo"]),
        ]:
            jwt = made.of_type("AWS::ApiGatewayV2::Authorizer")["JwtAuthorizer"]["JwtConfiguration"]
            self.assertEqual({"Issuer": issuer, "Audience": audience}, jwt)
        self.assertEqual({}, self.development.of_type("AWS::Cognito::UserPool"))
        users = stack.of_type("AWS::Cognito::UserPool")["Users"]
        self.assertTrue(users["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"])
        # `make deploy` gives these two to the other stack.
        self.assertEqual("<UsersClient>", stack.outputs["UserPoolClientId"])
        self.assertEqual("https://cognito-idp.eu-west-1.amazonaws.com/<Users>", stack.outputs["UserPoolIssuer"])
        for name in ["UserPoolClientId", "UserPoolIssuer"]:
            self.assertNotIn(name, self.development.outputs)

    def page_variables(self, **parameters):
        """The query function's variables about the page."""
        stack = self.template.with_parameters(**parameters)
        variables = stack.of_type("AWS::Lambda::Function")["QueryApi"]["Environment"]["Variables"]
        return {name: value for name, value in variables.items() if name.startswith("SIGN_IN_") or name == "CURRENCY"}

    def test_the_page_gets_the_issuer_for_sign_in(self):
        self.assertEqual({"CURRENCY": "USD"}, self.page_variables())
        self.assertEqual({"CURRENCY": "EUR"}, self.page_variables(Currency="EUR"))
        issuer, client = {"SIGN_IN_ISSUER": "https://issuer.example"}, {"SIGN_IN_CLIENT_ID": "page"}
        least = {"CURRENCY": "USD"} | issuer | client | {"SIGN_IN_SCOPE": "openid"}
        self.assertEqual(least, self.page_variables(SignInClientId="page"))
        most = least | {
            "SIGN_IN_SCOPE": "openid orders:read-any",
            "SIGN_IN_AUDIENCE": "ftgo",
            "SIGN_IN_ORIGINS": "https://a.example https://b.example:8443",
        }
        found = self.page_variables(
            SignInClientId="page",
            SignInScopes="openid orders:read-any",
            SignInAudience="ftgo",
            SignInOrigins="https://a.example https://b.example:8443",
        )
        self.assertEqual(most, found)
        of_pool = {
            "CURRENCY": "USD",
            "SIGN_IN_ISSUER": "https://cognito-idp.eu-west-1.amazonaws.com/<Users>",
            "SIGN_IN_CLIENT_ID": "<UsersClient>",
            "SIGN_IN_SCOPE": "openid",
            "SIGN_IN_ORIGINS": "https://<UsersDomain>.auth.eu-west-1.amazoncognito.com",
        }
        self.assertEqual(of_pool, self.page_variables(UserPool="true", JwtIssuer="", JwtAudience=""))

    def test_the_user_pool_has_only_the_page_as_client(self):
        for parameters, url in [
            ({}, "<HttpApi.ApiEndpoint>/"),
            ({"DomainName": "a.example", "CertificateArn": CERTIFICATE}, "https://a.example/"),
        ]:
            stack = self.template.with_parameters(UserPool="true", JwtIssuer="", JwtAudience="", **parameters)
            self.assertEqual(url, stack.outputs["PageUrl"])
            client = stack.of_type("AWS::Cognito::UserPoolClient")["UsersClient"]
            self.assertEqual(([url], [url]), (client["CallbackURLs"], client["LogoutURLs"]))
            self.assertEqual((["code"], ["openid"]), (client["AllowedOAuthFlows"], client["AllowedOAuthScopes"]))
            # A page cannot keep a secret.
            self.assertFalse(client["GenerateSecret"])
            self.assertTrue(client["AllowedOAuthFlowsUserPoolClient"])
            domain = stack.of_type("AWS::Cognito::UserPoolDomain")["UsersDomain"]
            self.assertEqual("ftgo-order-history-123456789012", domain["Domain"])
        self.assertEqual("<HttpApi>", self.development.outputs["HttpApiId"])
        self.assertEqual("<HttpApi.ApiEndpoint>/", self.development.outputs["PageUrl"])

    def test_origins_and_scopes_that_the_function_would_reject_are_rejected(self):
        for name, good, bad in [
            (
                "SignInOrigins",
                [
                    "",
                    "https://a.example",
                    "https://a.example:8443 https://b.example",
                    "http://127.0.0.1:1234",
                    "http://localhost",
                ],
                [
                    "https://a.example/",
                    "https://a.example,https://b.example",
                    "http://a.example",
                    "a.example",
                    "https://a;b",
                    "https://a.example ",
                ],
            ),
            (
                "SignInScopes",
                ["openid", "openid orders:read-any", "a openid", "a openid b"],
                ["", "profile", "openid ", "openid,", "openidx", "xopenid", "a,openid"],
            ),
            ("Currency", ["USD", "EUR"], ["", "usd", "EURO", "E1R"]),
        ]:
            pattern = self.template.source["Parameters"][name]["AllowedPattern"]
            for value in good:
                self.assertRegex(value, pattern)
            for value in bad:
                self.assertNotRegex(value, pattern)


if __name__ == "__main__":
    unittest.main()
