"""Folds an archive with Spark to one line of DynamoDB JSON per order, ready for ImportTable.

A partition should have at most about 200,000 orders. If a partition does not fit into memory, the job fails with a message.
"""

import json
import sys

from pyspark.sql import SparkSession

archive, out, buckets = sys.argv[1], sys.argv[2], int(sys.argv[3])
# No file _SUCCESS, because ImportTable would import it.
spark = SparkSession.builder.config("spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").getOrCreate()


def order(line):
    return json.loads(line)["Item"]["orderId"]["S"]


(
    spark.sparkContext.textFile(archive)
    .pipe("./rebuild fold", checkCode=True)  # Folds events to partial views, in each partition.
    .keyBy(order)
    .partitionBy(buckets)  # Brings all partial views of an order together,
    .values()
    .pipe("./rebuild fold --whole", checkCode=True)  # and merges them to one line. Partial views are read like events.
    .saveAsTextFile(out, "org.apache.hadoop.io.compress.GzipCodec")
)
