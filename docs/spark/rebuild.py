"""Folds an archive on Spark: one DynamoDB-JSON line for each order, ready for ImportTable.

A partition should have at most some 200,000 orders; if one does not fit into the memory, the job fails and says so.
"""

import json
import sys

from pyspark.sql import SparkSession

archive, out, buckets = sys.argv[1], sys.argv[2], int(sys.argv[3])
# Without a file _SUCCESS, which would be imported, too.
spark = SparkSession.builder.config("spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").getOrCreate()


def order(line):
    return json.loads(line)["Item"]["orderId"]["S"]


(
    spark.sparkContext.textFile(archive)
    .pipe("./rebuild fold", checkCode=True)  # Events to partial views, in each partition.
    .keyBy(order)
    .partitionBy(buckets)  # All partial views of an order come together,
    .values()
    .pipe("./rebuild fold --whole", checkCode=True)  # and are merged to one line: partial views are read like events.
    .saveAsTextFile(out, "org.apache.hadoop.io.compress.GzipCodec")
)
