package explain

import "strings"

const (
	tableText = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
	indexText = "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with the UpdateTable API"
	limitText = "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at https://aws.amazon.com/support request a limit increase"
	javaName  = "software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughputExceededException"
	javaText  = javaName + ": " + tableText + " (Service: DynamoDb, Status Code: 400, Request ID: TEST)"
	botoText  = "An error occurred (ProvisionedThroughputExceededException) when calling the PutItem operation (reached max retries: 2): " + tableText
	goText    = "operation error DynamoDB: PutItem, exceeded maximum number of attempts, 3, https response error StatusCode: 400, RequestID: TEST, ProvisionedThroughputExceededException: " + tableText
	netName   = "Amazon.DynamoDBv2.Model.ProvisionedThroughputExceededException"
	phpBody   = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured prov (truncated...)` + "\n ProvisionedThroughputExceededException (client): " + tableText
	phpText   = `Aws\DynamoDb\Exception\DynamoDbException: Error executing "PutItem" on "https://dynamodb.eu-west-1.amazonaws.com"; AWS HTTP error: Client error: ` + "`POST https://dynamodb.eu-west-1.amazonaws.com` resulted in a `400 Bad Request` response:\n" + phpBody
	pyTrace   = "Traceback (most recent call last):\n  File \"/app/store.py\", line 12, in put\n    table.put_item(Item=item)\n"
	loguru    = "Traceback (most recent call last):\n\n  File \"/app/a.py\", line 20, in <module>\n    main()\n    └ <function main at 0x1>\n\n> File \"/app/a.py\", line 12, in put\n    table.put_item(Item=item)\n    │     └ <function put_item at 0x2>\n\n"
	rich      = "╭────── Traceback (most recent call last) ──────╮\n│ /app/a.py:12 in put                           │\n╰───────────────────────────────────────────────╯\n"
	boto      = "botocore.errorfactory.ProvisionedThroughputExceededException: " + botoText + "\n"
	frames    = "\tat com.example.Store.put(Store.java:12)\n\tat com.example.App.main(App.java:7)\n"
)

// logCases are logs as they are printed, with the number of their events that are throttles of DynamoDB.
var logCases = []struct {
	name string
	log  string
	want int
}{
	{"Java", javaText + "\n" + frames, 1},
	{"Java, wrapped", "java.lang.RuntimeException: write failed\n" + frames + "Caused by: " + javaText + "\n\t... 2 more\n", 1},
	{"Java, wrapped with its message", "java.lang.RuntimeException: " + javaText + "\n" + frames + "Caused by: " + javaText + "\n\t... 2 common frames omitted\n", 1},
	{"Java, wrapped twice", "com.example.StoreException: " + javaText + "\n" + frames + "Caused by: java.util.concurrent.ExecutionException: " + javaText + "\n" + frames + "Caused by: " + javaText + "\n" + frames, 1},
	{"Java, a future, uncaught", `Exception in thread "main" java.util.concurrent.ExecutionException: ` + javaText + "\n" + frames + "Caused by: " + javaText + "\n" + frames, 1},
	{"Java, suppressed", javaText + "\n" + frames + "\tSuppressed: software.amazon.awssdk.core.exception.SdkClientException: Request attempt 1 failure: " + tableText + "\n" + frames + "\tSuppressed: " + javaText + "\n\t\tat x.Y.z(Y.java:1)\n", 1},
	{"Java, a long stack", "java.lang.RuntimeException: " + javaText + "\n" + lines(90, "\tat com.example.Frame%.call(Frame.java:1)\n") + "Caused by: " + javaText + "\n" + frames, 1},
	{"Java, logged", "2026-01-05 12:00:00,123 ERROR [main] c.e.Store - write failed: " + javaText + "\n" + javaText + "\n" + frames + "Caused by: " + javaText + "\n", 1},
	{"Java, logged with the thread first", "[main] ERROR com.example.Store - write failed: " + javaText + "\n" + javaText + "\n" + frames, 1},
	{"Java, root cause first", javaText + "\n" + frames + "Wrapped by: java.lang.RuntimeException: " + javaText + "\n" + frames, 1},
	{"Java, SDK 1", "com.amazonaws.services.dynamodbv2.model.ProvisionedThroughputExceededException: " + tableText + " (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ProvisionedThroughputExceededException; Request ID: TEST; Proxy: null)\n" + frames, 1},
	{"Java, SDK 1, an index", "com.amazonaws.services.dynamodbv2.model.ProvisionedThroughputExceededException: " + indexText + " (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ProvisionedThroughputExceededException)\n", 1},
	{"Java, in Lambda", "write failed: java.lang.RuntimeException\njava.lang.RuntimeException: " + tableText + "\n" + frames + "Caused by: " + javaText + "\n" + frames, 1},
	{"Java, in Lambda, the message first", tableText + " (Service: DynamoDb): " + javaName + "\n" + javaText + "\n" + frames, 1},
	{"Java, a container's lines", cri("2026-01-05 12:00:00 ERROR c.e.Store - " + javaText + "\n" + javaText + "\n" + frames + "Caused by: " + javaText + "\n"), 1},
	{"Java, a retry and the failure", "2026-01-05 12:00:00,123 WARN c.e.Store - retrying: " + javaText + "\n2026-01-05 12:00:01,123 ERROR c.e.Store - write failed: " + javaText + "\n", 2},
	{"Java, Kinesis", "software.amazon.awssdk.services.kinesis.model.ProvisionedThroughputExceededException: Rate exceeded for shard shardId-000000000000 in stream clicks (Service: Kinesis)\n\tat com.example.DynamoWriter.put(DynamoWriter.java:1)\n", 0},

	{"Python", pyTrace + boto, 1},
	{"Python, direct cause", pyTrace + boto + "\nThe above exception was the direct cause of the following exception:\n\n" + pyTrace + "app.StoreError: " + botoText + "\n", 1},
	{"Python, another during handling", pyTrace + boto + "\nDuring handling of the above exception, another exception occurred:\n\n" + pyTrace + "app.StoreError: " + botoText + "\n", 1},
	{"Python, three exceptions", pyTrace + boto + "\nDuring handling of the above exception, another exception occurred:\n\n" + pyTrace + boto + "\nThe above exception was the direct cause of the following exception:\n\n" + pyTrace + boto, 1},
	{"Python, logged", "ERROR:root:write failed: " + botoText + "\n" + pyTrace + boto, 1},
	{"Python, logged with a time", "2026-01-05 12:00:00,123 - store - ERROR - write failed: " + botoText + "\n" + pyTrace + boto + "\nThe above exception was the direct cause of the following exception:\n\n" + pyTrace + "app.StoreError: " + botoText + "\n", 1},
	{"Python, printed and traced", "write failed: " + botoText + "\n" + pyTrace + boto, 1},
	{"Python, a group", "  + Exception Group Traceback (most recent call last):\n  |   File \"/app/a.py\", line 3, in <module>\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/app/a.py\", line 1, in put\n    | " + boto + "    +------------------------------------\n", 1},
	{"Python, a container's lines", cri(pyTrace + boto + "\nDuring handling of the above exception, another exception occurred:\n\n" + pyTrace + "app.StoreError: " + botoText + "\n"), 1},
	{"Python, compose", prefixed("store-1  | ", pyTrace+boto+"\nDuring handling of the above exception, another exception occurred:\n\n"+pyTrace+"app.StoreError: "+botoText+"\n"), 1},
	{"Python, journal", prefixed("Jan 05 12:00:00 host store[123]: ", pyTrace+boto+"\nDuring handling of the above exception, another exception occurred:\n\n"+pyTrace+"app.StoreError: "+botoText+"\n"), 1},
	{"Python, one line of JSON", `{"level":"ERROR","message":"write failed","exc_info":"` + `Traceback (most recent call last):\n botocore.errorfactory.ProvisionedThroughputExceededException: ` + botoText + `\n\nThe above exception was the direct cause of the following exception:\n\napp.StoreError: ` + botoText + `"}` + "\n", 1},
	{"Python, loguru", "2026-01-05 12:00:00.123 | ERROR    | __main__:put:12 - write failed: " + botoText + "\n" + loguru + boto, 1},
	{"Python, loguru, direct cause", loguru + boto + "\n\nThe above exception was the direct cause of the following exception:\n\n\n" + loguru + "app.StoreError: " + botoText + "\n", 1},
	{"Python, rich", rich + boto, 1},
	{"Python, rich, direct cause", rich + boto + "\nThe above exception was the direct cause of the following exception:\n\n" + rich + "app.StoreError: " + botoText + "\n", 1},
	{"Python, a query", "An error occurred (ThrottlingException) when calling the Query operation: Throughput exceeds the current capacity of your table or index.\n", 1},

	{"JavaScript", "ProvisionedThroughputExceededException: " + tableText + "\n    at throwDefaultError (/app/node_modules/@smithy/smithy-client/index.js:1:2) {\n  '$fault': 'client',\n  __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException'\n}\n", 1},
	{"JavaScript, cause", "Error: write failed\n    at put (/app/store.js:10:11) {\n  [cause]: ProvisionedThroughputExceededException: " + tableText + "\n      at x (/app/node_modules/a.js:1:2) {\n    __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException'\n  }\n}\n", 1},
	{"JavaScript, cause with its message", "Error: ProvisionedThroughputExceededException: " + tableText + "\n    at put (/app/store.js:10:11) {\n  [cause]: ProvisionedThroughputExceededException: " + tableText + "\n      at x (/app/a.js:1:2)\n}\n", 1},
	{"JavaScript, aggregate", "AggregateError: all failed\n    at put (/app/store.js:1:2) {\n  [errors]: [\n    ProvisionedThroughputExceededException: " + tableText + "\n        at x (/app/a.js:1:2),\n  ]\n}\n", 1},
	{"JavaScript, stack of causes", "StoreError: ProvisionedThroughputExceededException: " + tableText + "\n    at put (/app/store.js:1:2)\ncaused by: ProvisionedThroughputExceededException: " + tableText + "\n    at x (/app/a.js:1:2)\n", 1},
	{"JavaScript, uncaught", "/app/store.js:12\n    throw new Error('write failed', { cause: e });\n    ^\n\nError: ProvisionedThroughputExceededException: " + tableText + "\n    at put (/app/store.js:12:9) {\n  [cause]: ProvisionedThroughputExceededException: " + tableText + "\n      at x (/app/a.js:1:2)\n}\n\nNode.js v22.1.0\n", 1},
	{"JavaScript, in Lambda", "2026-01-05T12:00:00.000Z\tTEST\tERROR\tInvoke Error \t" + `{"errorType":"ProvisionedThroughputExceededException","errorMessage":"` + tableText + `","cause":{"name":"ProvisionedThroughputExceededException"},"stack":["ProvisionedThroughputExceededException: ` + tableText + `","    at x (/var/task/index.js:1:2)"]}` + "\n", 1},
	{"JavaScript, texts only", "ProvisionedThroughputExceededException: " + tableText + "\nProvisionedThroughputExceededException: " + indexText + "\n", 2},

	{"Go", "2026/01/05 12:00:00 put order: " + goText + "\n", 1},
	{"Go, wrapped in one line", "put order: ProvisionedThroughputExceededException: " + goText + "\n", 1},
	{"Go, joined", "2026/01/05 12:00:00 put order: " + goText + "\nput item: " + goText + "\n", 1},
	{"Go, without a logger", goText + "\n" + goText + "\n", 2},
	{"Go, with a stack", goText + "\nmain.put\n\t/app/main.go:10\ncould not write\nmain.write\n\t/app/main.go:20\n", 1},
	{"Go, cockroachdb/errors", "could not write: " + goText + "\n(1) attached stack trace\n  -- stack trace:\n  | main.put\n  | \t/app/main.go:10\nWraps: (2) could not write\nWraps: (3) " + goText + "\nError types: (1) *withstack.withStack (2) *errutil.withPrefix (3) *smithy.OperationError\n", 1},
	{"Go, zap", "2026-01-05T12:00:00.000Z\tERROR\tapp/main.go:10\twrite failed\t{\"error\": \"" + goText + "\", \"errorVerbose\": \"" + goText + "\"}\nmain.put\n\t/app/main.go:10\n", 1},
	{"Go, logfmt", `time=2026-01-05T12:00:00Z level=ERROR msg="write failed" err="` + goText + `"` + "\n" + `time=2026-01-05T12:00:01Z level=ERROR msg="write failed" err="` + goText + `"` + "\n", 2},

	{".NET", netName + ": " + tableText + "\n   at Amazon.Runtime.Internal.HttpErrorResponseExceptionHandler.HandleException()\n", 1},
	{".NET, aggregate", "Unhandled exception. System.AggregateException: One or more errors occurred. (" + tableText + ")\n ---> " + netName + ": " + tableText + "\n ---> Amazon.Runtime.Internal.HttpErrorResponseException: Exception of type 'HttpErrorResponseException' was thrown.\n   at a.b()\n   --- End of inner exception stack trace ---\n   at c.d()\n   --- End of inner exception stack trace ---\n   at e.f()\n", 1},
	{".NET, aggregate at the margin", "System.AggregateException: One or more errors occurred. ---> " + netName + ": " + tableText + "\n   at a.b()\n--- End of inner exception stack trace ---\n   at c.d()\n---> (Inner Exception #0) " + netName + ": " + tableText + "\n   at a.b()<---\n", 1},
	{".NET, one line", "System.AggregateException: One or more errors occurred. (" + tableText + ") ---> " + netName + ": " + tableText + " ---> " + netName + ": " + tableText + "\n", 1},
	{".NET, console logger", "fail: Store[0]\n      write failed\n      " + netName + ": " + tableText + "\n       ---> " + netName + ": " + tableText + "\n         at a.b()\n", 1},
	{".NET, Serilog", "[12:00:00 ERR] write failed\nApp.StoreException: write failed\n ---> " + netName + ": " + tableText + "\n   at a.b()\n", 1},

	{"Ruby", "/gems/aws-sdk-core/plugins/raise_response_errors.rb:17:in `call': " + tableText + " (Aws::DynamoDB::Errors::ProvisionedThroughputExceededException)\n\tfrom /app/store.rb:3:in `put'\n", 1},
	{"Ruby, cause", "/app/store.rb:5:in `rescue in put': Aws::DynamoDB::Errors::ProvisionedThroughputExceededException (StoreError)\n\tfrom /app/store.rb:2:in `put'\n/gems/aws-sdk-core/plugins/raise_response_errors.rb:17:in `call': " + tableText + " (Aws::DynamoDB::Errors::ProvisionedThroughputExceededException)\n\tfrom /app/store.rb:3:in `put'\n", 1},
	{"Ruby 3.4, cause", "/app/store.rb:5:in 'Store#put': Aws::DynamoDB::Errors::ProvisionedThroughputExceededException (StoreError)\n\tfrom /app/store.rb:2:in 'Store#put'\n/gems/aws-sdk-core/plugins/raise_response_errors.rb:17:in 'Aws::Plugins::RaiseResponseErrors::Handler#call': " + tableText + " (Aws::DynamoDB::Errors::ProvisionedThroughputExceededException)\n\tfrom /app/store.rb:3:in 'Store#put'\n", 1},
	{"Ruby, logged", "E, [2026-01-05T12:00:00.000000 #123] ERROR -- : Aws::DynamoDB::Errors::ProvisionedThroughputExceededException: " + tableText + "\nCause: Aws::DynamoDB::Errors::ProvisionedThroughputExceededException\n/app/store.rb:3:in `put'\n", 1},

	{"PHP", "PHP Fatal error:  Uncaught " + phpText + "\n  thrown in /app/vendor/aws/a.php on line 195\n", 1},
	{"PHP, next", "PHP Fatal error:  Uncaught " + phpText + "\nStack trace:\n#0 /app/vendor/a.php(97): a->b()\n#1 {main}\n\nNext " + phpText + "\nStack trace:\n#0 /app/store.php(12): c->d()\n#1 {main}\n\nNext App\\StoreError: write failed in /app/store.php:14\nStack trace:\n#0 {main}\n  thrown in /app/store.php on line 14\n", 1},
	{"PHP, Monolog", `[2026-01-05T12:00:00.000000+00:00] app.ERROR: write failed {"exception":"[object] (App\\StoreError(code: 0): write failed at /app/store.php:14)` + "\n[stacktrace]\n#0 {main}\n[previous exception] [object] (" + phpText + ")\n[stacktrace]\n#0 {main}\n\"}\n", 1},
	{"PHP, previous", "[05-Jan-2026 12:00:00 UTC] write failed: " + phpText + "\nPrevious: " + phpText + "\n", 1},

	{"Rust", "Error: could not write\n\nCaused by:\n    0: service error\n    1: unhandled error (ProvisionedThroughputExceededException)\n    2: Error { code: \"ProvisionedThroughputExceededException\", message: \"" + tableText + "\" }\n", 1},
	{"Rust, by service", "Error: DynamoDB\n\nCaused by:\n    0: service error\n    1: ProvisionedThroughputExceededException\n", 1},
	{"Rust, a panic", "thread 'main' panicked at src/main.rs:5:10:\ncalled `Result::unwrap()` on an `Err` value: ServiceError(ServiceError { source: ProvisionedThroughputExceededException(ProvisionedThroughputExceededException { message: Some(\"" + tableText + "\") }), raw: Response { body: \"...\" } })\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n", 1},

	{"Java, printed and traced", "write failed: " + javaText + "\n" + javaText + "\n" + frames, 1},
	{"Java, its message printed", "write failed: " + tableText + "\n" + javaName + ": " + tableText + "\n" + frames, 1},
	{"Java, java.util.logging", "Jan 05, 2026 12:00:00 PM com.example.Store put\nSEVERE: write failed: " + javaText + "\n" + javaText + "\n" + frames, 1},
	{"Java, Docker's JSON", `{"log":"java.lang.RuntimeException: ` + javaText + `\n","stream":"stderr","time":"2026-01-05T12:00:00.1Z"}` + "\n" + `{"log":"\tat a.B.c(B.java:1)\n","stream":"stderr","time":"2026-01-05T12:00:00.1Z"}` + "\n" + `{"log":"Caused by: ` + javaText + `\n","stream":"stderr","time":"2026-01-05T12:00:00.1Z"}` + "\n", 1},
	{"Python, in Lambda", "[ERROR] ProvisionedThroughputExceededException: " + botoText + "\n" + pyTrace + "[ERROR] ProvisionedThroughputExceededException: " + botoText + "\n" + pyTrace, 2},
	{"Go, a panic", "panic: " + goText + " [recovered]\n\tpanic: " + goText + "\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/main.go:10\n", 1},
	{"Python, in Lambda, with a request", "[ERROR]\t2026-01-05T12:00:00.000Z\tc0ffee00-1111-4222-8333-444455556666\twrite failed: " + botoText + "\n" + pyTrace + boto, 1},
	{"JavaScript, NestJS", "[Nest] 17  - 01/05/2026, 12:00:00 PM   ERROR [ExceptionsHandler] " + limitText + "\nRequestLimitExceeded: " + limitText + "\n    at x (/app/a.js:1:2)\n", 1},
	{"Go, klog", "E0105 12:00:00.000000       1 main.go:10] write failed: " + goText + "\n", 1},
	{"Ruby, between other lines", "I, [2026-01-05T12:00:00.000000 #7]  INFO -- : started\n/app/store.rb:5:in 'Store#put': failed (StoreError)\n\tfrom /app/store.rb:2:in 'Store#put'\n/gems/a.rb:17:in 'Handler#call': " + tableText + " (Aws::DynamoDB::Errors::ProvisionedThroughputExceededException)\n\tfrom /app/store.rb:3:in 'Store#put'\nGET /health 200\n", 1},
	{"JSON with an empty message", `{"error":"` + goText + `","level":"error","msg":""}` + "\n", 1},
	{"JSON without a message", `{"errorMessage":"` + tableText + `","errorType":"Function<Aws::DynamoDB::Errors::ProvisionedThroughputExceededException>"}` + "\n", 1},
	{"JSON, a stack as its message", `{"timestamp":"2026-01-05T12:00:00Z","message":"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(pyTrace+boto) + `"}` + "\n", 1},
	{"CSV", `"2026-01-05T12:00:00Z","ERROR ` + goText + `"` + "\n" + `"2026-01-05T12:00:00Z","ERROR ` + goText + `"` + "\n", 2},
	{"a table", "| 2026-01-05 12:00:00.000 | ERROR " + goText + " |\n| 2026-01-05 12:00:01.000 | ERROR " + goText + " |\n", 2},
	{"aws logs", "{\n    \"events\": [\n" + lines(2, "        {\n            \"timestamp\": 1767614400000,\n            \"message\": \""+goText+" caused by "+goText+"\",\n            \"ingestionTime\": 176761440000%\n        },\n") + "    ]\n}\n", 2},
	{"JSON lines", `{"level":"ERROR","error":"` + goText + `","cause":"` + goText + `"}` + "\n" + `{"level":"ERROR","error":"` + goText + `"}` + "\n", 2},
	{"JSON on several lines", "{\n  \"level\": \"ERROR\",\n  \"error\": \"" + goText + "\",\n  \"cause\": {\n    \"error\": \"" + goText + "\"\n  }\n}\n", 1},
	{"an index's text", "ERROR write failed: " + indexText + "\n", 1},
	{"another service", "An error occurred (ThrottlingException) when calling the GetParameter operation: Rate exceeded\n", 0},
	{"another service, called from a DynamoDB stream", "software.amazon.awssdk.services.lambda.model.TooManyRequestsException: ThrottlingException: Rate exceeded\n\tat com.example.DynamoDBStreamHandler.handle(X.java:1)\n", 0},
}
