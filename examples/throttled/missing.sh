#!/bin/sh
# Prints a line for each SDK of examples/throttled that this machine lacks. Its test is then left out, and make test
# says so in its last lines.
python3 -c 'import boto3' 2>/dev/null ||
	echo "python3 has no boto3: TestPython of examples/throttled is left out. To install it: pip install boto3"
python3 -c 'import boto3; m = boto3.client("dynamodb", region_name="x").meta.service_model
exit("ThrottlingReasons" not in m.shape_for("ProvisionedThroughputExceededException").members)' 2>/dev/null ||
	echo "python3 has no boto3 that knows ThrottlingReasons: TestPython of examples/throttled does not check them"
aws --version >/dev/null 2>&1 ||
	echo "the AWS CLI was not found: TestCLI of examples/throttled is left out. To install it: pip install awscli"
javac -version >/dev/null 2>&1 ||
	echo "javac was not found: TestJava of examples/throttled is left out. To install it: a JDK of Java 17"
