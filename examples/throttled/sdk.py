# Usage: sdk.py ENDPOINT TABLE. The SDK retries, and then reports why DynamoDB throttled.
import json, sys
import boto3, botocore.config, botocore.exceptions

db = boto3.client("dynamodb", endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id="x",
                  aws_secret_access_key="x", config=botocore.config.Config(retries={"mode": "standard", "total_max_attempts": 3}))
try:
    for n in range(10):
        db.put_item(TableName=sys.argv[2], Item={"id": {"S": "hot"}, "text": {"S": "x" * 300_000}})
except botocore.exceptions.ClientError as e:
    print(json.dumps({
        "code": e.response["Error"]["Code"],
        "attempts": e.response["ResponseMetadata"]["RetryAttempts"] + 1,
        "reasons": [r["reason"] for r in e.response.get("ThrottlingReasons", [])],
    }))
