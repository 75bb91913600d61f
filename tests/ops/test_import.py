"""Imports files of `rebuild run --sink files` with DynamoDB's ImportTable, on an emulator of AWS."""

import gzip
import json
import os
import subprocess
import time
import unittest

from emulator import ROOT, emulator

BUCKET, RUNS = "archive", "ftgo/runs/"


def messages():
    """The events of a few orders in the archive's format: one message per line."""
    story = json.loads((ROOT / "events/story.json").read_text())
    for order in range(1, 6):
        for place, message in enumerate(story):
            headers, payload = dict(message["headers"]), json.loads(message["payload"])
            time_of = headers["ID"].partition("-")[0]
            headers["ID"] = f"{time_of}-{order:08x}{place:08x}"
            if "orderId" in payload:
                payload["orderId"] = str(order)
            else:
                headers["event-aggregate-id"] = headers["PARTITION_ID"] = str(order)
            yield json.dumps({"payload": json.dumps(payload), "headers": headers})


class ImportFiles(unittest.TestCase):
    def setUp(self):
        self.aws = self.enterContext(emulator())
        self.s3, self.dynamodb = self.aws.client("s3"), self.aws.client("dynamodb")
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        lines = list(messages())
        for day in (1, 2, 3):
            body = gzip.compress("\n".join(lines[day - 1 :: 3]).encode())
            self.s3.put_object(Bucket=BUCKET, Key=f"ftgo/events/dt=2026-03-0{day}/hh=12/a.ndjson.gz", Body=body)

    def rebuild(self, *arguments, code=0):
        program = ROOT / "target/debug/rebuild"
        ended = subprocess.run([program, *arguments], env=os.environ | self.aws.environment, capture_output=True, text=True)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended.stdout + ended.stderr

    def items(self, table):
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=table)
        items = {item["orderId"]["S"]: item for page in pages for item in page["Items"]}
        for item in items.values():
            for value in item.values():
                value.get("SS", []).sort()
        return items

    def imported(self, request):
        description = self.dynamodb.import_table(**request)["ImportTableDescription"]
        for _ in range(600):
            described = self.dynamodb.describe_import(ImportArn=description["ImportArn"])["ImportTableDescription"]
            if described["ImportStatus"] != "IN_PROGRESS":
                return described
            time.sleep(0.1)
        raise AssertionError("the import does not end")

    def test_the_request_with_the_files_creates_the_same_table_as_a_rebuild(self):
        source = f"s3://{BUCKET}/ftgo"
        said = self.rebuild("run", "--from", source, "--sink", "files", "--into", "imported")
        self.assertIn("aws dynamodb import-table", said)
        listed = self.s3.list_objects_v2(Bucket=BUCKET, Prefix=RUNS)["Contents"]
        [request] = [found["Key"] for found in listed if found["Key"].endswith("/import-table.json")]
        request = json.loads(self.s3.get_object(Bucket=BUCKET, Key=request)["Body"].read())
        described = self.imported(request)
        self.assertEqual((described["ImportStatus"], described["ErrorCount"]), ("COMPLETED", 0))
        self.assertEqual((described["ProcessedItemCount"], described["ImportedItemCount"]), (5, 5))

        self.rebuild("run", "--from", source, "--into", "rebuilt", "--create")
        self.assertEqual(self.items("imported"), self.items("rebuilt"))
        self.assertIn("equal", self.rebuild("verify", "--left", "rebuilt", "--right", "imported", "--pause", "0"))
        tables = [self.dynamodb.describe_table(TableName=name)["Table"] for name in ("imported", "rebuilt")]
        for member in ("KeySchema", "AttributeDefinitions"):
            self.assertCountEqual(tables[0][member], tables[1][member])
        [imported], [rebuilt] = [table["GlobalSecondaryIndexes"] for table in tables]
        self.assertEqual((imported["IndexName"], imported["KeySchema"]), (rebuilt["IndexName"], rebuilt["KeySchema"]))
        projected = [index["Projection"]["NonKeyAttributes"] for index in (imported, rebuilt)]
        self.assertCountEqual(*projected)


if __name__ == "__main__":
    unittest.main()
