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

// reasonOf returns a denial's reason, such as TableWriteKeyRangeThroughputExceeded, and the ARN of the table or index.
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

// throttle counts a throttled request and returns DynamoDB's exception for it.
func (c *call) throttle(denied []partitions.Denial) (*http.Response, error) {
	c.l.countThrottled(1, denied)
	var reasons []throttlingReason
	for _, d := range denied {
		if reason := reasonOf(d); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	a := answerTo(denied)
	return c.respond(http.StatusBadRequest, map[string]any{
		"__type":            a.exception.namespace + a.exception.name,
		"message":           a.text,
		a.exception.reasons: reasons,
	})
}

type cancellationReason struct {
	Code    string
	Message string `json:",omitzero"`
}

// cancelThrottled counts a throttled transaction and returns its exception. denied has each action's denials or nil.
func (c *call) cancelThrottled(denied [][]partitions.Denial) (*http.Response, error) {
	c.l.countThrottled(1, slices.Concat(denied...))
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

// cancelForConflicts returns the exception of a transaction in conflict. blocked has the conflicts by action.
func (c *call) cancelForConflicts(blocked []bool) (*http.Response, error) {
	reasons := make([]cancellationReason, len(blocked))
	for i, held := range blocked {
		if held {
			reasons[i] = cancellationReason{"TransactionConflict", conflictMessage}
		}
	}
	return c.cancelled(reasons)
}

// cancelled returns a TransactionCanceledException with the reason of each action. An empty code becomes None.
func (c *call) cancelled(reasons []cancellationReason) (*http.Response, error) {
	codes := make([]string, len(reasons))
	for i := range reasons {
		reasons[i].Code = cmp.Or(reasons[i].Code, "None")
		codes[i] = reasons[i].Code
	}
	return c.respond(http.StatusBadRequest, map[string]any{
		"__type":              exceptionPrefix + "TransactionCanceledException",
		"Message":             fmt.Sprintf(cancelledMessage, strings.Join(codes, ", ")),
		"CancellationReasons": reasons,
	})
}

// conflict returns DynamoDB's exception for a write whose item a transaction holds.
func (c *call) conflict() (*http.Response, error) {
	return c.respond(http.StatusBadRequest, map[string]any{
		"__type":  exceptionPrefix + "TransactionConflictException",
		"message": conflictMessage,
	})
}

// respond returns a response of the limiter's own in DynamoDB's form.
func (c *call) respond(status int, members any) (*http.Response, error) {
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
		Request: c.req,
	}
	setBody(resp, body)
	return resp, nil
}
