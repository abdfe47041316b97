package explain

import (
	"cmp"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
)

// Operation says whether a limit throttles reads or writes.
type Operation string

// The operations.
const (
	Read  Operation = "read"
	Write Operation = "write"
)

// title returns Read or Write, as in DynamoDB's names of reasons and metrics.
func (o Operation) title() string {
	if o == Read {
		return "Read"
	}
	return "Write"
}

// Cause is the limit that throttled a request: the suffix of DynamoDB's throttling reason.
type Cause string

// The causes.
const (
	KeyRange    Cause = "KeyRangeThroughputExceeded"
	Provisioned Cause = "ProvisionedThroughputExceeded"
	MaxOnDemand Cause = "MaxOnDemandThroughputExceeded"
	Account     Cause = "AccountLimitExceeded"
)

// Causes are all causes.
var Causes = []Cause{KeyRange, Provisioned, MaxOnDemand, Account}

// ID names a table, or one of its global indexes. Index is "" for the table.
type ID struct{ Table, Index string }

// Reason is one of DynamoDB's 16 reasons, on a table or index.
type Reason struct {
	ID
	Operation Operation
	Cause     Cause
}

// String returns the reason as DynamoDB writes it, such as TableWriteKeyRangeThroughputExceeded.
func (r Reason) String() string {
	kind := "Table"
	if r.Index != "" {
		kind = "Index"
	}
	return kind + r.Operation.title() + string(r.Cause)
}

// ParseReason returns the reason of DynamoDB's text, such as TableWriteKeyRangeThroughputExceeded, on the table or index with
// an ARN. ok is false if the text or the ARN is unknown, or if only one of the two is an index's.
func ParseReason(text, arn string) (r Reason, ok bool) {
	_, path, ok := strings.Cut(arn, ":table/")
	if !ok {
		return r, false
	}
	r.Table, r.Index, _ = strings.Cut(path, "/index/")
	if r.Operation, r.Cause = ParseSuffix(text); r.Cause != "" && r.String() == text {
		return r, true
	}
	return Reason{}, false
}

// ParseSuffix returns the operation and the cause at the end of DynamoDB's text of a reason; "" and "" for another text.
func ParseSuffix(text string) (Operation, Cause) {
	for _, op := range []Operation{Read, Write} {
		for _, cause := range Causes {
			if strings.HasSuffix(text, op.title()+string(cause)) {
				return op, cause
			}
		}
	}
	return "", ""
}

// Evidence has what the sources know about the throttles from From to To.
type Evidence struct {
	Name      string // the table's, or the pattern of several tables' names
	From, To  time.Time
	Counted   bool // whether a source counts all throttles of that time
	Resources []Resource
	Counts    []Count
	Keys      []Key
	Logged    float64 // throttles in logs, with or without a reason

	// PartitionWCU and PartitionRCU are a partition's limits; 0 is AWS's.
	PartitionWCU, PartitionRCU float64

	Commands display.Commands // for the command lines in cures
}

// Resource is a table or a global index.
type Resource struct {
	ID
	ARN          string
	Asked        string // Options' name or ARN of the table; "" for its name
	PartitionKey string // the attribute's name; the first of several
	OnDemand     bool
	ProjectsAll  bool // whether it is an index with the projection ALL
	Reads        Capacity
	Writes       Capacity
}

// Capacity has the limits of reads or writes in units a second, and their use. 0 is unknown, or no limit.
type Capacity struct {
	Provisioned, MaxOnDemand, Warm float64

	Peak     float64 // units a second in the busiest minute, or 5 minutes of a time over 3 h
	Requests float64 // successful requests
}

// NameInCalls returns the table's name or ARN for calls: a table of another account needs the ARN.
func (r *Resource) NameInCalls() string { return cmp.Or(r.Asked, r.Table) }

// Capacity returns the capacity for an operation.
func (r *Resource) Capacity(op Operation) Capacity {
	if op == Read {
		return r.Reads
	}
	return r.Writes
}

// Count is the number of throttles that a source counted for a reason, or for all causes together if Cause is "".
type Count struct {
	Reason
	Events  float64
	Minutes int     // minutes with such throttles; 0 is unknown
	Rate    float64 // capacity units a second that were throttled, in the seconds with such throttles; 0 is unknown
	Guessed bool    // whether the reason follows from texts, not from ThrottlingReasons
	Source  Source
}

// Source is a piece of evidence.
type Source struct {
	Name string `json:"source"` // such as CloudWatch
	Text string `json:"text"`   // what it counted or lists
}

// Key is what a source knows about a partition key. Fields that are "" or 0 are unknown.
type Key struct {
	Reason // Operation and Cause are those of its throttles
	Key    string

	Throttles      float64 // throttled requests
	UnitsPerSecond float64 // lower bound of its writes in the hottest window, in WCU/s
	Hot            bool    // whether its writes are near a partition's limit, or beyond
	UnitsPerWrite  float64
	Advice         string // the cure, from a deployment that shards the key
	Source         string
}
