"""What `make dlq` shows for messages with any content."""

import os
import unittest
from unittest import mock

import operate
import status
from free_port import free_port
from stage import ORDER_HISTORY

MINUTE = 60_000


def message(sent, received=None):
    first = {} if received is None else {"ApproximateFirstReceiveTimestamp": str(received)}
    return {"Attributes": {"SentTimestamp": str(sent)} | first}


class Windows(unittest.TestCase):
    def test_the_search_window_starts_at_the_send_and_ends_an_hour_after_the_receive(self):
        self.assertEqual(operate.windows([message(0, 5 * MINUTE)]), [[0, 65 * MINUTE]])
        self.assertEqual(operate.windows([message(0)]), [[0, 60 * MINUTE]])

    def test_the_last_receive_is_in_the_window_for_any_batching_window(self):
        template = ORDER_HISTORY.template
        _, _, of_type = template["Resources"]["Fn::ForEach::EventTypes"]
        receives = of_type["Queue${EventType}"]["Properties"]["RedrivePolicy"]["maxReceiveCount"]
        longest = max(window["VisibilityTimeout"] for window in template["Mappings"]["BatchingWindows"].values())
        [[_, end]] = operate.windows([message(0, 0)])
        self.assertGreaterEqual(end, receives * longest * 1000)

    def test_an_old_message_does_not_extend_the_search_to_now(self):
        week = 7 * 24 * 60 * MINUTE
        self.assertEqual(operate.windows([message(week), message(0)]), [[0, 60 * MINUTE], [week, week + 60 * MINUTE]])

    def test_overlapping_windows_are_searched_once(self):
        sent = [message(0), message(20 * MINUTE), message(10 * MINUTE), message(50 * MINUTE)]
        self.assertEqual(operate.windows(sent), [[0, 110 * MINUTE]])

    def test_without_messages_there_is_no_search(self):
        self.assertEqual(operate.windows([]), [])


class WithoutTheLocalSystem(unittest.TestCase):
    def test_the_error_says_how_to_start_it(self):
        environment = {"STAGE": "local", "SQS_PORT": str(free_port()), "FN": "charge"}
        for command in [lambda: operate.main("dlq"), status.main]:
            with mock.patch.dict(os.environ, environment), self.assertRaises(SystemExit) as ended:
                command()
            self.assertIn("Could not connect", ended.exception.code)
            self.assertIn("Start `make run`", ended.exception.code)


class Event(unittest.TestCase):
    def test_is_found_inside_its_notification(self):
        event = '{"headers":{"event-type":"OrderCreated","ID":"1"}}'
        notification = '{"Message":"{\\"headers\\":{\\"event-type\\":\\"OrderCreated\\",\\"ID\\":\\"1\\"}}"}'
        for body in [event, notification, f'{{"detail":{event}}}']:
            self.assertEqual(operate.event(body), "OrderCreated 1")

    def test_of_an_invalid_body_is_unknown(self):
        deep = "[" * 100_000
        bodies = [
            "",
            "{",
            "null",
            "7",
            "[]",
            '"x"',
            "{}",
            '{"headers":[]}',
            '{"Message":7}',
            '{"Message":"["}',
            '{"detail":null}',
        ]
        for body in [*bodies, deep, '{"Message":"' + deep + '"}', "9" * 10_000]:
            self.assertEqual(operate.event(body), "unreadable", body[:20])


class GivenUp(unittest.TestCase):
    BODY = """{"requestContext":{"condition":"RetryAttemptsExhausted","approximateInvokeCount":6},"DDBStreamBatchInfo":
        {"batchSize":3,"approximateArrivalOfFirstRecord":"2026-03-01T12:00:00Z"}}"""

    def test_has_the_number_of_rows_the_reason_and_what_happens_next(self):
        self.assertEqual(operate.event(self.BODY), "3 rows of the outbox, the first written 2026-03-01T12:00:00Z")
        why = "RetryAttemptsExhausted after 6 invocations; the rows are still in the outbox, and the sweeper publishes them"
        self.assertEqual(operate.given_up(self.BODY), why)

    def test_of_another_message_is_empty(self):
        for body in ["", "7", "[]", "{}", '{"requestContext":7}', '{"requestContext":{}}', '{"DDBStreamBatchInfo":7}']:
            self.assertIsNone(operate.given_up(body), body)
            self.assertEqual(operate.event(body), "unreadable")


class Log:
    def __init__(self, *lines):
        self.lines = lines

    def failures(self, function, windows):
        return self.lines


class Why(unittest.TestCase):
    def test_is_the_last_reason_in_the_log(self):
        log = Log('{"message_id":"m","reason":"a","error":"b"}', '{"message_id":"m","reason":"c","error":"d"}')
        self.assertEqual(operate.why(log, "f", [message(0)]), {"m": "c: d"})

    def test_an_invalid_line_is_ignored(self):
        log = Log("", "7", "[]", '"message_id error"', "[" * 100_000, "thread panicked", '{"message_id":"m","error":"e"}')
        self.assertEqual(operate.why(log, "f", [message(0)]), {"m": "None: e"})


if __name__ == "__main__":
    unittest.main()
