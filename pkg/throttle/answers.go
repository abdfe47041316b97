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
}

var (
	provisionedExceeded  = exception{"ProvisionedThroughputExceededException", exceptionPrefix, "ThrottlingReasons"}
	requestLimitExceeded = exception{"RequestLimitExceeded", exceptionPrefix, "ThrottlingReasons"}
	throttlingException  = exception{"ThrottlingException", "com.amazon.coral.availability#", "throttlingReasons"}
)

// answer is how DynamoDB answers a request that exceeds a limit of a table or global index. Sources: docs/throttle.md.
type answer struct {
	onDemand  bool // the table's billing mode
	cause     partitions.Cause
	index     bool // the limit is a global index's
	exception exception
	text      string // message of the exception, or of an action's reason in a cancelled transaction
	code      string // of an action's reason in a cancelled transaction
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
)

// answers has a row for each limit. If a request exceeds several limits, the first of their rows is the answer. AWS
// does not document its own choice.
var answers = []answer{
	{false, partitions.KeyRange, false, provisionedExceeded, provisionedText, provisionedCode},
	{false, partitions.KeyRange, true, provisionedExceeded, provisionedIndexText, provisionedCode},
	{false, partitions.Provisioned, false, provisionedExceeded, provisionedText, provisionedCode},
	{false, partitions.Provisioned, true, provisionedExceeded, provisionedIndexText, provisionedCode},
	{true, partitions.Account, false, requestLimitExceeded, accountText, throttlingCode},
	{true, partitions.Account, true, requestLimitExceeded, accountText, throttlingCode},
	{true, partitions.KeyRange, false, throttlingException, onDemandText, throttlingCode},
	{true, partitions.KeyRange, true, throttlingException, onDemandIndexText, throttlingCode},
	{true, partitions.MaxOnDemand, false, throttlingException, maximumText, throttlingCode},
	{true, partitions.MaxOnDemand, true, throttlingException, maximumText, throttlingCode},
}

// answerTo returns the answer to a request with these denials: the first row of answers for one of them.
func answerTo(denied []partitions.Denial) *answer {
	first := slices.IndexFunc(answers, func(a answer) bool { return slices.ContainsFunc(denied, a.appliesTo) })
	return &answers[first]
}

// appliesTo reports whether the answer is for a denial.
func (a answer) appliesTo(d partitions.Denial) bool {
	return a.onDemand == d.OnDemand && a.cause == d.Cause && a.index == (d.Index != "")
}
