package throttle

import (
	"slices"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// exception is an exception of DynamoDB, with the HTTP status 400.
type exception struct {
	name      string
	namespace string // of its __type
	reasons   string // the member that lists the throttling reasons

	namespaceFrom, reasonsFrom string // as in [answer]
}

var (
	provisionedExceeded  = exception{"ProvisionedThroughputExceededException", exceptionPrefix, "ThrottlingReasons", "errors", "model"}
	requestLimitExceeded = exception{"RequestLimitExceeded", exceptionPrefix, "ThrottlingReasons", "errors", "model"}
	throttlingException  = exception{"ThrottlingException", "com.amazon.coral.availability#", "throttlingReasons", "dynein", "model"}
)

// answer is how DynamoDB answers a request beyond a limit of a table, or of a global index.
type answer struct {
	onDemand  bool
	cause     partitions.Cause
	index     bool
	exception exception
	text      string // of the exception, of a cancelled transaction's action, or of a batch's statement
	code      string // of the action
	statement string // code of the statement, which the limiter never throttles

	// Sources of the exception, the text and the codes: keys of [sources], or "" for a guess.
	exceptionFrom, textFrom, codeFrom, statementFrom string
}

// AWS's texts.
const (
	provisionedText = "The level of configured provisioned throughput for the table was exceeded. " +
		"Consider increasing your provisioning level with the UpdateTable API."
	provisionedIndexText = "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. " +
		"Consider increasing your provisioning level for the under-provisioned global secondary indexes with the UpdateTable API"
	onDemandText = "Throughput exceeds the current capacity of your table or index. " +
		"DynamoDB is automatically scaling your table or index so please try again shortly. " +
		"If exceptions persist, check if you have a hot key: " +
		"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
	onDemandIndexText = "Throughput exceeds the current capacity for one or more global secondary indexes. " +
		"DynamoDB is automatically scaling your index so please try again shortly."
	maximumText = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
	accountText = "Throughput exceeds the current throughput limit for your account. " +
		"Please contact AWS Support at https://aws.amazon.com/support request a limit increase"
)

const (
	provisionedCode = "ProvisionedThroughputExceeded"
	throttlingCode  = "ThrottlingError"
	accountCode     = "RequestLimitExceeded"
)

// answers has a row for each limit. Of several limits that a request exceeds, the first row answers, which is a guess.
var answers = []answer{
	{false, partitions.KeyRange, false, provisionedExceeded, provisionedText, provisionedCode, provisionedCode, "diagnosing", "", "transactions", ""},
	{false, partitions.KeyRange, true, provisionedExceeded, provisionedIndexText, provisionedCode, provisionedCode, "", "", "transactions", ""},
	{false, partitions.Provisioned, false, provisionedExceeded, provisionedText, provisionedCode, provisionedCode, "conformance", "dynein", "transactions", ""},
	{false, partitions.Provisioned, true, provisionedExceeded, provisionedIndexText, provisionedCode, provisionedCode, "diagnosing", "spark", "transactions", ""},
	{true, partitions.Account, false, requestLimitExceeded, accountText, throttlingCode, accountCode, "emr", "emr", "", ""},
	{true, partitions.Account, true, requestLimitExceeded, accountText, throttlingCode, accountCode, "", "", "", ""},
	{true, partitions.KeyRange, false, throttlingException, onDemandText, throttlingCode, throttlingCode, "chariot", "chariot", "transactions", "boto3"},
	{true, partitions.KeyRange, true, throttlingException, onDemandIndexText, throttlingCode, throttlingCode, "brighter", "brighter", "transactions", ""},
	{true, partitions.MaxOnDemand, false, throttlingException, maximumText, throttlingCode, throttlingCode, "diagnosing", "diagnosing", "", ""},
	{true, partitions.MaxOnDemand, true, throttlingException, maximumText, throttlingCode, throttlingCode, "", "diagnosing", "", ""},
}

// answerTo returns the answer to denials, of which there is at least one.
func answerTo(denied []partitions.Denial) *answer {
	at := slices.IndexFunc(answers, func(a answer) bool { return slices.ContainsFunc(denied, a.is) })
	return &answers[at]
}

// is reports whether the answer is for a denial. A table has the limits of its billing mode only.
func (a answer) is(d partitions.Denial) bool {
	return a.onDemand == d.OnDemand && a.cause == d.Cause && a.index == (d.Index != "")
}

// callAnswers say how each kind of operation answers if some of its items are throttled, with a source as in [answer].
var callAnswers = []struct{ operations, text, from string }{
	{"`PutItem`, `UpdateItem`, `DeleteItem`, `GetItem`, `Query`, `Scan`", "the exception, status 400", "chariot"},
	{"the same, if a global index of the table lacks capacity", "the index's exception", "spark"},
	{"`BatchWriteItem`, `BatchGetItem`", "200 with `UnprocessedItems` or `UnprocessedKeys`; the exception if nothing was processed", "batches"},
	{"`TransactWriteItems`, `TransactGetItems`", "400, `TransactionCanceledException`; `CancellationReasons` have the code and the text, and `None` for other actions", "transactions"},
	{"`BatchExecuteStatement`", "on AWS: 200, the statement's `Error` has the code and the text. Here: never throttled", "statements"},
	{"`ExecuteStatement`, `ExecuteTransaction`", "on AWS: as the single call and the transaction. Here: never throttled", ""},
}

// sources are the documents and threads that show answers.
var sources = map[string]string{
	"diagnosing":   "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing-workflow.html",
	"transactions": "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html",
	"batches":      "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html",
	"statements":   "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementError.html",
	"model":        "https://github.com/aws/api-models-aws/blob/main/models/dynamodb/service/2012-08-10/dynamodb-2012-08-10.json",
	"errors":       "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html",
	"conformance":  "https://github.com/paritysuite/dynamodb-conformance/pull/43",
	"boto3":        "https://github.com/boto/boto3/issues/3834",
	"dynein":       "https://github.com/awslabs/dynein/issues/195",
	"spark":        "https://github.com/audienceproject/spark-dynamodb/issues/61",
	"emr":          "https://github.com/awslabs/emr-dynamodb-connector/issues/183",
	"chariot":      "https://github.com/praetorian-inc/chariot-ui/issues/684",
	"brighter":     "https://github.com/BrighterCommand/Brighter/issues/2810",
}
