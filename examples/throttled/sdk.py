# Usage: sdk.py ENDPOINT TABLE... . The SDK retries, and then reports why DynamoDB throttled.
import json, sys
import boto3, botocore.config, botocore.exceptions
from botocore.retries.standard import ThrottledRetryableChecker

db = boto3.client("dynamodb", endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id="x",
                  aws_secret_access_key="x", config=botocore.config.Config(retries={"mode": "standard", "total_max_attempts": 3}))
for table in sys.argv[2:]:
    try:
        for n in range(10):
            db.put_item(TableName=table, Item={"id": {"S": "hot"}, "text": {"S": "x" * 300_000}})
    except botocore.exceptions.ClientError as e:
        reasons = e.response.get("ThrottlingReasons") or e.response.get("throttlingReasons", [])
        print(json.dumps({
            "class": type(e).__name__,
            "code": e.response["Error"]["Code"],
            "attempts": e.response["ResponseMetadata"]["RetryAttempts"] + 1,
            "throttling": e.response["Error"]["Code"] in ThrottledRetryableChecker._THROTTLED_ERROR_CODES,
            "reasons": [r["reason"] for r in reasons],
        }))
