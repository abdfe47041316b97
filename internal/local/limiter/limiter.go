package limiter

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Limiter is an http.RoundTripper for clients of DynamoDB. It is safe for
// concurrent use.
type Limiter struct {
	options   Options
	writeRate rate // of a partition
	readRate  rate
	tableRate rate

	mu     sync.Mutex // guards what follows and every bucket
	tables map[string]*table
	holds  *holds
	stats  *counts
}

// New returns a limiter whose buckets are full. The error is [Options.Validate]'s.
func New(options Options) (*Limiter, error) {
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("partition limiter: %w", err)
	}
	o := options.withDefaults()
	return &Limiter{
		options:   o,
		writeRate: newRate(o.PartitionWCU, o.Burst),
		readRate:  newRate(o.PartitionRCU, o.Burst),
		tableRate: newRate(o.TableWCU, o.Burst),
		tables:    map[string]*table{},
		holds:     newHolds(),
		stats:     newCounts(),
	}, nil
}

func (l *Limiter) now() int64 { return l.options.Now().UnixNano() }

// handlers are the operations that the limiter knows.
var handlers = map[string]func(*call) (*http.Response, error){
	"PutItem":            (*call).writeItem,
	"UpdateItem":         (*call).writeItem,
	"DeleteItem":         (*call).writeItem,
	"BatchWriteItem":     (*call).batchWrite,
	"TransactWriteItems": (*call).transactWrite,
	"GetItem":            (*call).readItems,
	"Query":              (*call).readItems,
	"Scan":               (*call).readItems,
	"BatchGetItem":       (*call).batchGet,
	"TransactGetItems":   (*call).transactGet,
	"CreateTable":        (*call).changeTable,
	"UpdateTable":        (*call).changeTable,
	"DeleteTable":        (*call).changeTable,
}

const targetPrefix = "DynamoDB_20120810."

// maxRequest is above what DynamoDB takes, 16 MB.
const maxRequest = 17 << 20

// RoundTrip sends a request to the engine, or refuses it as AWS would. The
// request is not changed. An error is the base transport's, or tells that a body
// could not be read.
func (l *Limiter) RoundTrip(req *http.Request) (*http.Response, error) {
	operation, _ := strings.CutPrefix(req.Header.Get("X-Amz-Target"), targetPrefix)
	handle, ok := handlers[operation]
	if !ok || req.Body == nil || req.ContentLength > maxRequest {
		return l.options.Base.RoundTrip(req)
	}
	body, rest, err := readBody(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the body of %s: %w", operation, err)
	}
	if rest != nil {
		longer := req.Clone(req.Context())
		longer.Body = rest
		return l.options.Base.RoundTrip(longer)
	}
	return handle(&call{l: l, req: req, operation: operation, body: body})
}

// readBody reads and closes a body. One that is too long comes back as the
// rest, from its start.
func readBody(body io.ReadCloser) (text []byte, rest io.ReadCloser, err error) {
	text, err = io.ReadAll(io.LimitReader(body, maxRequest+1))
	if err == nil && len(text) > maxRequest {
		return nil, struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), body), body}, nil
	}
	if closed := body.Close(); err == nil {
		err = closed
	}
	return text, nil, err
}
