package limiter

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/local/partitions"
)

// The texts that AWS sends.
const (
	exceptionPrefix    = "com.amazonaws.dynamodb.v20120810#"
	provisionedMessage = "The level of configured provisioned throughput for the table was exceeded. " +
		"Consider increasing your provisioning level with the UpdateTable API."
	onDemandMessage = "Throughput exceeds the current capacity of your table or index. " +
		"DynamoDB is automatically scaling your table or index so please try again shortly. " +
		"If exceptions persist, check if you have a hot key: " +
		"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
	conflictMessage  = "Transaction is ongoing for the item"
	cancelledMessage = "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]"
)

// throttlingReason is named in lower case wherever it occurs.
type throttlingReason struct {
	Reason   string `json:"reason"`
	Resource string `json:"resource"`
}

// reasonOf names the limit that was met as AWS does: resource, operation, limit.
func reasonOf(d partitions.Denial) throttlingReason {
	name := "Table"
	if d.Index != "" {
		name = "Index"
	}
	if d.Write {
		name += "Write"
	} else {
		name += "Read"
	}
	switch {
	case !d.OfTable:
		name += "KeyRangeThroughputExceeded"
	case d.OnDemand:
		name += "MaxOnDemandThroughputExceeded"
	default:
		name += "ProvisionedThroughputExceeded"
	}
	return throttlingReason{name, d.ARN}
}

// refuse answers a request that was not admitted, and counts it. A partition's
// limit, and a provisioned table's, is a ProvisionedThroughputExceededException; that of an
// on-demand table alone a ThrottlingException, which spells its reasons in lower case.
func (c *call) refuse(denied []partitions.Denial) (*http.Response, error) {
	c.l.refused(c.operation, denied)
	var reasons []throttlingReason
	provisioned := false
	for _, d := range denied {
		provisioned = provisioned || !d.OfTable || !d.OnDemand
		if reason := reasonOf(d); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if !provisioned {
		return c.refusal(map[string]any{
			"__type":            exceptionPrefix + "ThrottlingException",
			"message":           onDemandMessage,
			"throttlingReasons": reasons,
		})
	}
	return c.refusal(map[string]any{
		"__type":            exceptionPrefix + "ProvisionedThroughputExceededException",
		"message":           provisionedMessage,
		"ThrottlingReasons": reasons,
	})
}

type cancellationReason struct {
	Code    string
	Message string `json:",omitzero"`
}

// cancel answers a transaction whose actions were not all admitted.
func (c *call) cancel(denied [][]partitions.Denial) (*http.Response, error) {
	c.l.refused(c.operation, slices.Concat(denied...))
	reasons := make([]cancellationReason, len(denied))
	for i, d := range denied {
		if d != nil {
			reasons[i] = cancellationReason{"ThrottlingError", onDemandMessage}
		}
	}
	return c.cancelled(reasons)
}

// collide answers a transaction that met another, or a write, on some of its items.
func (c *call) collide(met []bool) (*http.Response, error) {
	reasons := make([]cancellationReason, len(met))
	items := 0
	for i, m := range met {
		if m {
			reasons[i] = cancellationReason{"TransactionConflict", conflictMessage}
			items++
		}
	}
	c.l.collided(c.operation, items)
	return c.cancelled(reasons)
}

// cancelled answers a transaction with a reason for each of its actions, if only
// that it is none.
func (c *call) cancelled(reasons []cancellationReason) (*http.Response, error) {
	codes := make([]string, len(reasons))
	for i := range reasons {
		reasons[i].Code = cmp.Or(reasons[i].Code, "None")
		codes[i] = reasons[i].Code
	}
	return c.refusal(map[string]any{
		"__type":              exceptionPrefix + "TransactionCanceledException",
		"Message":             fmt.Sprintf(cancelledMessage, strings.Join(codes, ", ")),
		"CancellationReasons": reasons,
	})
}

// conflict answers a write whose item is in a transaction.
func (c *call) conflict() (*http.Response, error) {
	c.l.collided(c.operation, 1)
	return c.refusal(map[string]any{
		"__type":  exceptionPrefix + "TransactionConflictException",
		"message": conflictMessage,
	})
}

// refusal is an error of the limiter's own, as DynamoDB sends errors.
func (e *exchange) refusal(members any) (*http.Response, error) {
	return e.answer(http.StatusBadRequest, members)
}

// answer is one of the limiter's own, as DynamoDB sends it.
func (e *exchange) answer(status int, members any) (*http.Response, error) {
	body, err := encode(members)
	if err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	resp := &http.Response{
		Status:     fmt.Sprint(status, " ", http.StatusText(status)),
		StatusCode: status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type":     {"application/x-amz-json-1.0"},
			"X-Amz-Crc32":      {checksum(body)},
			"X-Amzn-Requestid": {rand.Text()},
		},
		Request: e.req,
	}
	setBody(resp, body)
	return resp, nil
}
