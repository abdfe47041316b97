package folds

import (
	"math/rand/v2"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// fault is a kind of thing that goes wrong.
type fault string

// The faults of calls to DynamoDB, as a process sees them.
const (
	none          fault = ""
	throttledKey  fault = "a partition's limit"
	throttled     fault = "the table's limit"
	failed        fault = "server error, not applied"
	broken        fault = "connection broken, not applied"
	conflict      fault = "conflict with a transaction"
	lostAnswer    fault = "applied, answer lost"
	deathBefore   fault = "process died before a write"
	deathAfter    fault = "process died after a write"
	unreadableMap fault = "shard map not read"
	unprocessed   fault = "batch left some items"
)

// The faults of deliveries.
const (
	undelivered  fault = "delivery: failed before the handler"
	failedAfter  fault = "delivery: failed after the handler"
	twice        fault = "delivery: twice"
	cut          fault = "delivery: cut anywhere, the rest again"
	reportedDone fault = "delivery: done, and a part of it again"
	late         fault = "delivery: an old batch after later ones"
)

// What happens to the system as a whole.
const (
	split     fault = "stream shard split"
	rotated   fault = "stream shard rotated"
	counted   fault = "shard count changed"
	removed   fault = "counter's write shard removed"
	poisoned  fault = "poison record"
	restart   fault = "mappings killed and restarted"
	doubled   fault = "caller sent a keyed call again"
	compacted fault = "rollups compacted"
	gapped    fault = "stretch of the stream lost"
)

// chance is how often a fault is drawn, in a thousand.
type chance struct {
	fault    fault
	perMille int
}

// role is whose process makes a call.
type role string

const (
	ofIngest     role = "ingest"
	ofFolds      role = "fold"
	ofCompaction role = "compaction"
	ofAudits     role = "audit"
)

var (
	foldChances  = []chance{{throttledKey, 40}, {throttled, 20}, {failed, 30}, {broken, 20}, {lostAnswer, 80}, {deathBefore, 6}, {deathAfter, 6}}
	writeChances = map[role][]chance{
		ofIngest: {
			{throttledKey, 40}, {throttled, 30}, {failed, 30}, {broken, 20}, {conflict, 30}, {lostAnswer, 80}, {deathBefore, 8}, {deathAfter, 8},
		},
		ofFolds: foldChances, ofCompaction: foldChances,
		ofAudits: {{throttledKey, 20}, {failed, 20}, {conflict, 20}, {lostAnswer, 60}},
	}
	batchChances    = append([]chance{{unprocessed, 100}}, writeChances[ofIngest]...)
	readChances     = []chance{{unreadableMap, 100}}
	deliveryChances = []chance{{undelivered, 20}, {failedAfter, 30}, {twice, 40}, {cut, 40}, {reportedDone, 40}, {late, 60}}
)

// chances are those of a call. Those that an audit needs in large numbers don't fail.
func (r role) chances(call any) []chance {
	switch call.(type) {
	case *dynamodb.UpdateItemInput, *dynamodb.TransactWriteItemsInput:
		return writeChances[r]
	case *dynamodb.BatchWriteItemInput:
		return batchChances
	case *dynamodb.PutItemInput:
		if r != ofAudits {
			return writeChances[r]
		}
	case *dynamodb.GetItemInput:
		if r != ofAudits {
			return readChances
		}
	}
	return nil
}

// dice draw faults. They are used by many goroutines, so a seed repeats what is drawn,
// not who draws it.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
	quiet  bool // draw no faults
}

func (d *dice) draw(chances []chance) fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quiet {
		return none
	}
	n := d.random.IntN(1000)
	for _, c := range chances {
		if n -= c.perMille; n < 0 {
			return c.fault
		}
	}
	return none
}

func (d *dice) intN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

func (d *dice) calm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quiet = true
}

// broke is a network error that the SDK takes for worth repeating.
type broke struct{}

func (broke) Error() string   { return "the connection broke" }
func (broke) Timeout() bool   { return true }
func (broke) Temporary() bool { return true }

// refusal is what DynamoDB answers to a call that it does not apply; nil for faults
// that let the call through.
func (d *dice) refusal(f fault, call any) error {
	code, reason := "", ""
	switch f {
	case failed, unreadableMap:
		return &types.InternalServerError{Message: aws.String("internal")}
	case broken:
		return broke{}
	case throttledKey:
		code, reason = "ThrottlingError", "TableWriteKeyRangeThroughputExceeded"
	case throttled:
		code, reason = "ProvisionedThroughputExceeded", "TableWriteMaxOnDemandThroughputExceeded"
	case conflict:
		code = "TransactionConflict"
	default:
		return nil
	}
	if transaction, ok := call.(*dynamodb.TransactWriteItemsInput); ok {
		reasons := make([]types.CancellationReason, len(transaction.TransactItems))
		for i := range reasons {
			reasons[i].Code = aws.String("None")
		}
		reasons[d.intN(len(reasons))].Code = &code
		return &types.TransactionCanceledException{Message: aws.String("cancelled"), CancellationReasons: reasons}
	}
	if f == conflict {
		return &types.TransactionConflictException{Message: aws.String("conflict")}
	}
	return &types.ProvisionedThroughputExceededException{
		Message: aws.String("over"), ThrottlingReasons: []types.ThrottlingReason{{Reason: &reason, Resource: aws.String("arn:table")}},
	}
}
