"""Folds an archive on Spark: one DynamoDB-JSON line for each order, ready for ImportTable."""

import json
import sys

from pyspark.sql import SparkSession

archive, out, buckets = sys.argv[1], sys.argv[2], int(sys.argv[3])
spark = SparkSession.builder.appName("rebuild").getOrCreate()


def order(line):
    return json.loads(line)["Item"]["orderId"]["S"]


(
    spark.sparkContext.textFile(archive)
    .pipe("./rebuild fold", checkCode=True)  # Events to partial views, in each partition.
    .keyBy(order)
    .partitionBy(buckets)  # All partial views of an order come together,
    .values()
    .pipe("./rebuild fold", checkCode=True)  # and are merged: partial views are read like events.
    .saveAsTextFile(out, "org.apache.hadoop.io.compress.GzipCodec")
)
