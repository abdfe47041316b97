"""Puts metrics and alarms, which come as JSON on standard input, into moto's
CloudWatch in this process, and prints the alarms that it has then."""

import json
import sys

import boto3
from moto import mock_aws

with mock_aws():
    client = boto3.client(
        "cloudwatch", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    given = json.load(sys.stdin)
    client.put_metric_data(**given["metrics"])
    for alarm in given["alarms"]:
        client.put_metric_alarm(**alarm)
    sent = client.list_metrics(Namespace=given["metrics"]["Namespace"])["Metrics"]
    alarms = client.describe_alarms(MaxRecords=100)["MetricAlarms"]
    json.dump({"metrics": sent, "alarms": alarms}, sys.stdout, default=str)
