"""The order history by Spark, as lines of DynamoDB JSON for ImportTable: `spark-submit rebuild.py ARCHIVE OUTPUT [PARTITIONS]`.

`rebuild` must be on the PATH, on every worker in the same place as here. Views merge in any order, so each partition is folded by itself, and what several partitions
have of an order is folded once more: `rebuild fold` takes its own lines, too.
"""

import json
import os
import sys

from pyspark.sql import SparkSession

archive, output, partitions = [*sys.argv[1:], "64"][:3]
spark = SparkSession.builder.appName("rebuild of the order history").getOrCreate()


def order_of(line):
    return json.loads(line)["Item"]["orderId"]["S"]


# Spark gives a program no environment of its own accord.
path = {"PATH": os.environ["PATH"]}
events = spark.sparkContext.textFile(f"{archive}/events/*/*/*.ndjson.gz")
partial = events.pipe("rebuild fold", path, checkCode=True)
by_order = partial.keyBy(order_of).partitionBy(int(partitions)).values()
views = by_order.pipe("rebuild fold", path, checkCode=True)
views.saveAsTextFile(output, "org.apache.hadoop.io.compress.GzipCodec")
