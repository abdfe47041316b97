package throttle

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// AWS's texts that have nothing to do with limits.
const (
	exceptionPrefix  = "com.amazonaws.dynamodb.v20120810#"
	conflictMessage  = "Transaction is ongoing for the item"
	cancelledMessage = "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]"
)

// throttlingReason has lower case members wherever AWS sends it.
type throttlingReason struct {
	Reason   string `json:"reason"`
	Resource string `json:"resource"`
}

// reasonOf returns AWS's name of the limit: resource, operation, limit.
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
	return throttlingReason{name + string(d.Cause), d.ARN}
}

// throttle answers a throttled request and counts it.
func (c *call) throttle(denied []partitions.Denial) (*http.Response, error) {
	c.l.countThrottled(c.operation, denied)
	var reasons []throttlingReason
	for _, d := range denied {
		if reason := reasonOf(d); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	a := answerTo(denied)
	return c.errorResponse(map[string]any{"__type": a.exception.namespace + a.exception.name, "message": a.text, a.exception.reasons: reasons})
}

type cancellationReason struct {
	Code    string
	Message string `json:",omitzero"`
}

// cancel answers a transaction with at least one throttled action.
func (c *call) cancel(denied [][]partitions.Denial) (*http.Response, error) {
	c.l.countThrottled(c.operation, slices.Concat(denied...))
	c.l.countThrottledWrites(denied...)
	reasons := make([]cancellationReason, len(denied))
	for i, d := range denied {
		if d != nil {
			a := answerTo(d)
			reasons[i] = cancellationReason{a.code, a.text}
		}
	}
	return c.cancelled(reasons)
}

// cancelForConflicts answers a transaction whose items are in another transaction or write.
func (c *call) cancelForConflicts(blocked []bool) (*http.Response, error) {
	reasons := make([]cancellationReason, len(blocked))
	items := 0
	for i, conflicts := range blocked {
		if conflicts {
			reasons[i] = cancellationReason{"TransactionConflict", conflictMessage}
			items++
		}
	}
	c.l.countConflicts(c.operation, items)
	return c.cancelled(reasons)
}

// cancelled answers a transaction with a reason for each action; the reason may be None.
func (c *call) cancelled(reasons []cancellationReason) (*http.Response, error) {
	codes := make([]string, len(reasons))
	for i := range reasons {
		reasons[i].Code = cmp.Or(reasons[i].Code, "None")
		codes[i] = reasons[i].Code
	}
	return c.errorResponse(map[string]any{
		"__type":              exceptionPrefix + "TransactionCanceledException",
		"Message":             fmt.Sprintf(cancelledMessage, strings.Join(codes, ", ")),
		"CancellationReasons": reasons,
	})
}

// conflict answers a write whose item is in a transaction.
func (c *call) conflict() (*http.Response, error) {
	c.l.countConflicts(c.operation, 1)
	return c.errorResponse(map[string]any{
		"__type":  exceptionPrefix + "TransactionConflictException",
		"message": conflictMessage,
	})
}

// errorResponse returns a response of the limiter's own in the form of DynamoDB's errors.
func (e *exchange) errorResponse(members any) (*http.Response, error) {
	return e.respond(http.StatusBadRequest, members)
}

// respond returns a response of the limiter's own in DynamoDB's form.
func (e *exchange) respond(status int, members any) (*http.Response, error) {
	body := encode(members)
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
