"""The operator's commands on a running `make run`."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path
from unittest import mock

import invoke
import operate
import queues
from local_system import ROOT, local_system
from stage import EVENT_TYPES

# The characters that SQS accepts. The others arrive as JSON escapes, and appear in a parsed header.
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
RAW = "\u009b2J\u202egnp\u2066\u200b\t\r\n"
ESCAPED = "\x1b[2J\x1b]0;pwned\x07\x1b[8m\x00\x08\x7f"


class OnTheLocalSystem(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.system = cls.enterClassContext(local_system())

    def run_make(self, *arguments):
        output, code = self.system.make(*arguments)
        text = output.decode()
        self.assertEqual(code, 0, text)
        return text

    def assert_harmless(self, text):
        dangerous = sorted({hex(ord(c)) for c in text if c != "\n" and not c.isprintable()})
        self.assertEqual(dangerous, [], text)

    def test_hostile_bytes_do_not_reach_the_terminal(self):
        hostile = RAW + ESCAPED
        headers = {
            "event-type": f"TicketAccepted{hostile}",
            "ID": hostile,
            "event-aggregate-id": hostile,
            "event-aggregate-type": hostile,
        }
        body = json.dumps({"headers": headers, "payload": hostile}) + RAW
        # One message that the function reads and reports in its log; others that it never gets.
        failed = self.system.send(
            "TicketAccepted", json.dumps({"headers": headers | {"event-type": "TicketAccepted"}, "payload": "{}"})
        )
        self.system.send("TicketAccepted-dlq", body, name=RAW)
        self.system.send("TicketAccepted-dlq", json.dumps({"Message": body}))
        self.system.send("TicketAccepted-dlq", "[" * 100_000)
        self.system.until(lambda: self.system.size("TicketAccepted-dlq") == 4)
        shown = self.run_make("dlq", "FN=TicketAccepted")
        self.assert_harmless(shown)
        self.assertIn("ftgo-order-history-TicketAccepted-dlq: 4 messages, 0 in flight\n", shown)
        self.assertIn("\\x1b[2J\\x1b]0;pwned\\x07", shown)
        self.assertIn("\\x9b2J\\u202egnp", shown)
        [why] = [part for part in shown.split("\n\n") if failed in part]
        self.assertRegex(why, r"\nwhy      [a-z_]+: header ")
        for arguments in [["status"], ["dlq", "FN=all"], ["drop", "FN=TicketAccepted", f"MESSAGE={failed}"]]:
            self.assert_harmless(self.run_make(*arguments))

    def test_a_hostile_line_of_a_log_does_not_reach_the_terminal(self):
        log = Path(self.system.environment["DATA_DIR"], "logs", "ftgo-order-history-query-api.log")
        log.parent.mkdir(exist_ok=True)
        with log.open("a") as file:
            file.write(f"{ESCAPED}\u202eend\n")
        command = ["make", "--no-print-directory", "logs", "FN=query-api"]
        # It follows the log until it and its child processes are stopped.
        environment = os.environ | self.system.environment
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        following = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **pipes)
        try:
            line = next(line for line in following.stdout if "end" in line)
        finally:
            os.killpg(following.pid, signal.SIGTERM)
            following.stdout.close()
            following.wait()
        self.assert_harmless(line)
        self.assertEqual(line, "\\x1b[2J\\x1b]0;pwned\\x07\\x1b[8m\\x00\\x08\\x7f\\u202eend\n")

    def test_status_counts_waiting_messages_and_dead_letters(self):
        for n in range(3):
            self.system.send("OrderRevised-dlq", str(n))
        url = self.system.url("OrderRevised-dlq")
        received = self.system.sqs.receive_message(QueueUrl=url, VisibilityTimeout=60)["Messages"]
        shown = self.run_make("status")
        [row] = [line for line in shown.splitlines() if line.startswith("OrderRevised ")]
        self.assertEqual(row.split(), ["OrderRevised", "0", "0", "-", "3", "?"])
        # The count includes messages that cannot be received now.
        self.assertIn(
            "OrderRevised-dlq: 3 messages, 1 in flight; 2 of them are shown\n", self.run_make("dlq", "FN=OrderRevised")
        )
        self.system.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=received[0]["ReceiptHandle"], VisibilityTimeout=0)
        self.assertIn("OrderRevised-dlq: 3 messages, 0 in flight\n", self.run_make("dlq", "FN=OrderRevised"))

    def test_drop_deletes_one_message_and_prints_it(self):
        body = '{"é": "\u202e"}\n'
        dropped, kept = self.system.send("OrderCancelled-dlq", body, kind="x"), self.system.send("OrderCancelled-dlq", "kept")
        shown = self.run_make("drop", "FN=OrderCancelled", f"MESSAGE={dropped}")
        self.assertEqual(json.loads(shown.splitlines()[-2]), body)
        self.assertEqual(json.loads(shown.splitlines()[-1])["kind"]["StringValue"], "x")
        left = self.run_make("dlq", "FN=OrderCancelled")
        self.assertIn("OrderCancelled-dlq: 1 message, 0 in flight\n", left)
        self.assertIn(kept, left)
        output, code = self.system.make("drop", "FN=OrderCancelled", f"MESSAGE={dropped}")
        self.assertNotEqual(code, 0)
        self.assertIn(f"OrderCancelled-dlq has no message {dropped}".encode(), output)
        self.assertEqual(self.system.size("OrderCancelled-dlq"), 1)

    def test_redrive_moves_all_dead_letters(self):
        for event_type in ["DeliveryPickedUp", "DeliveryDelivered"]:
            self.system.send(f"{event_type}-dlq", "{")
        shown = self.run_make("redrive", "FN=all", "RATE=10")
        for event_type in ["DeliveryPickedUp", "DeliveryDelivered"]:
            name = f"ftgo-order-history-{event_type}"
            self.assertIn(f"1 message moved from {name}-dlq to {name}\n", shown)
            # The function fails on it again.
            self.system.until(lambda event_type=event_type: self.system.size(f"{event_type}-dlq") == 1)

    def test_redrive_continues_after_a_queue_that_fails(self):
        # A move of the first queue is already running, one message a second.
        first, second = "OrderCreated", "DeliveryScheduled"
        self.assertLess(EVENT_TYPES.index(first), EVENT_TYPES.index(second))
        # A separate system, because its moves take a minute.
        system = self.enterContext(local_system())
        for _ in range(60):
            system.send(f"{first}-dlq", "{")
        system.send(f"{second}-dlq", "{")
        arns = [queues.arn(system.sqs, f"ftgo-order-history-{first}{suffix}") for suffix in ["-dlq", ""]]
        system.sqs.start_message_move_task(SourceArn=arns[0], DestinationArn=arns[1], MaxNumberOfMessagesPerSecond=1)
        output, code = system.make("redrive", "FN=all")
        shown = output.decode()
        self.assertNotEqual(code, 0, shown)
        self.assertRegex(shown, f"ftgo-order-history-{first}-dlq: .*already a task running")
        self.assertIn(f"moved from ftgo-order-history-{second}-dlq to ftgo-order-history-{second}\n", shown)
        self.assertIn(f"some messages were not moved: ftgo-order-history-{first}\n", shown)

    def test_redrive_reports_a_move_that_sqs_does_not_list(self):
        sqs = self.system.sqs
        shown = io.StringIO()
        unlisted = mock.patch.object(sqs, "list_message_move_tasks", return_value={"Results": []})
        with unlisted, contextlib.redirect_stdout(shown):
            self.assertFalse(operate.moved(sqs, "ftgo-order-history-TicketCreated-dlq", "ftgo-order-history-TicketCreated", {}))
        self.assertIn("ftgo-order-history-TicketCreated-dlq: SQS does not list the move", shown.getvalue())

    def test_status_shows_both_services_or_the_chosen_one(self):
        both = self.run_make("status")
        payments = self.run_make("status", "STACK=payments")
        for function in ["charge", "relay"]:
            for shown in [both, payments]:
                self.assertRegex(shown, rf"(?m)^{function} +\d+ +\d+ ")
        self.assertIn("OrderCreated", both)
        self.assertNotIn("OrderCreated", payments)
        self.assertNotIn("relay", self.run_make("status", "STACK=order-history"))

    def test_a_failed_charge_is_shown_with_its_reason_and_redriven(self):
        queue = "ftgo-payments-charge-dlq"
        message = self.system.send("ftgo-payments-charge", "{")
        self.system.until(lambda: self.system.size(queue) == 1)
        shown = self.run_make("dlq", "FN=charge")
        self.assertIn(f"{queue}: 1 message, 0 in flight\n", shown)
        self.assertIn(message, shown)
        self.assertRegex(shown, r"\nwhy      malformed\w*: ")
        self.assertIn(f"1 message moved from {queue} to ftgo-payments-charge\n", self.run_make("redrive", "FN=charge"))
        self.system.until(lambda: self.system.size(queue) == 1)
        # A moved message has a new id.
        [moved] = re.findall(r"(?m)^message  (\S+)$", self.run_make("dlq", "FN=charge"))
        self.run_make("drop", "FN=charge", f"MESSAGE={moved}")
        self.assertEqual(self.system.size(queue), 0)

    def test_rows_that_the_relay_could_not_publish_are_shown_and_not_redriven(self):
        info = {"batchSize": 2, "approximateArrivalOfFirstRecord": "2026-03-01T12:00:00Z"}
        context = {"condition": "RetryAttemptsExhausted", "approximateInvokeCount": 6}
        message = self.system.send(
            "ftgo-payments-relay-failed", json.dumps({"requestContext": context, "DDBStreamBatchInfo": info})
        )
        shown = self.run_make("dlq", "FN=relay")
        self.assertIn("ftgo-payments-relay-failed: 1 message, 0 in flight\n", shown)
        self.assertIn("2 rows of the outbox", shown)
        self.assertIn("the sweeper publishes them", shown)
        self.assertIn("nothing to move", self.run_make("redrive", "FN=relay"))
        self.assertEqual(self.system.size("ftgo-payments-relay-failed"), 1)
        self.run_make("drop", "FN=relay", f"MESSAGE={message}")
        self.assertEqual(self.system.size("ftgo-payments-relay-failed"), 0)

    def invoke(self, function, sample, intent=invoke.SAMPLE_INTENT):
        """Runs `make invoke` as without a Docker engine."""
        event = invoke.about_intent(
            ROOT / f"events/payments/{sample}.json", intent, Path(self.system.environment["DATA_DIR"], "event.json")
        )
        command = [ROOT / "target/debug/local", "invoke", function, event]
        # As in a deployment, the sample's claims are used.
        environment = os.environ | self.system.environment | {"AUTHORIZATION": "jwt"}
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        return json.loads(ran.stdout) if ran.returncode == 0 else ran.stderr

    def test_the_samples_of_payments_belong_to_one_payment(self):
        created = self.invoke("payment-api", "create")
        self.assertEqual(created["statusCode"], 201, created)
        intent = json.loads(created["body"])["paymentIntentId"]
        for sample, status in [("get", 200), ("change-amount", 200), ("request-charge", 202)]:
            response = self.invoke("payment-api", sample, intent)
            self.assertEqual((sample, response["statusCode"]), (sample, status), response)
        # The running system may have done the same meanwhile; the result is the same.
        for function, sample in [("charge", "charge"), ("relay", "relay"), ("relay", "relay-poison-row")]:
            self.assertEqual(self.invoke(function, sample, intent), {"batchItemFailures": []})
        for function in ["sweep", "reconcile"]:
            self.assertIsNone(self.invoke(function, function))

        def is_charged():
            shown = self.invoke("payment-api", "get", intent)
            return json.loads(shown["body"])["state"] == "CHARGED"

        self.system.until(is_charged)
        for sample in ["failure-no-idempotency-key", "failure-amount-is-not-a-number"]:
            self.assertEqual(self.invoke("payment-api", sample)["statusCode"], 400)
        self.assertIn("malformed_body", self.invoke("charge", "failure-charge-malformed-body"))

    def test_an_invalid_rate_is_rejected(self):
        for rate in ["0", "501", "x", "-1", "²"]:
            output, code = self.system.make("redrive", "FN=all", f"RATE={rate}")
            self.assertNotEqual(code, 0)
            self.assertIn(b"must be a number of messages per second, 1 to 500", output)


if __name__ == "__main__":
    unittest.main()
