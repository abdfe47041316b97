package throttle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// Limiter is an http.RoundTripper for clients of DynamoDB. It is safe for concurrent use.
type Limiter struct {
	options Options
	gate    *partitions.Gate
	holds   *partitions.Holds

	mu      sync.Mutex // guards the fields below
	tables  tables
	stats   *counts
	history *history
}

// New returns a limiter with full buckets. The error is [Options.Validate]'s.
func New(options Options) (*Limiter, error) {
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("throttle: %w", err)
	}
	o := options.withDefaults()
	return &Limiter{
		options: o,
		gate: partitions.New(partitions.Limits{
			Partitions: o.Partitions, PartitionWCU: o.PartitionWCU, PartitionRCU: o.PartitionRCU,
			SplitAfter: o.SplitAfter, Seed: o.Seed, Now: o.Now,
		}),
		holds:  partitions.NewHolds(o.TransactionHold, o.Now),
		tables: tables{}, stats: newCounts(o.Now()), history: newHistory(o.Now()),
	}, nil
}

// Partition returns the partition, counted from 0, in which a partition key begins. At first, the [Options.Partitions]
// partitions of a table or index are equal ranges of the keys' hashes; later splits are ignored. Pass a string as it is,
// a number without zeros that its value doesn't need (42, -1, 1.5), a binary value in base64.
func (l *Limiter) Partition(key string) int { return l.gate.Partition(key) }

// Partitions returns the current number of a table's partitions, without the indexes' partitions. The table is given by
// its name or ARN. For a table that no request has named, Partitions returns [Options.Partitions]. If several of the
// engine's databases have the table, it returns the largest number.
func (l *Limiter) Partitions(table string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.partitionCount(spaceName{table: tableName(table)})
}

// partitionCount returns what [Limiter.Partitions] does, for a table or an index. The caller holds l.mu.
func (l *Limiter) partitionCount(name spaceName) int {
	largest := l.options.Partitions
	for _, t := range l.tables {
		for _, s := range t.spaces() {
			if nameOf(s) == name {
				largest = max(largest, s.Partitions())
			}
		}
	}
	return largest
}

// waitUntil waits until a time in Unix nanoseconds, or until ctx ends.
func (l *Limiter) waitUntil(ctx context.Context, until int64) {
	if d := until - l.options.Now().UnixNano(); d > 0 {
		l.options.Sleep(ctx, time.Duration(d))
	}
}

// handlers handle the operations that the limiter charges, and those that change a table's description.
var handlers = map[string]func(*call) (*http.Response, error){
	"PutItem":            writeItem,
	"UpdateItem":         writeItem,
	"DeleteItem":         writeItem,
	"BatchWriteItem":     batchWrite,
	"TransactWriteItems": transactWrite,
	"GetItem":            readItems,
	"Query":              readItems,
	"Scan":               readItems,
	"BatchGetItem":       batchGet,
	"TransactGetItems":   transactGet,
	"CreateTable":        changeTable,
	"UpdateTable":        changeTable,
	"DeleteTable":        changeTable,
}

const targetPrefix = "DynamoDB_20120810."

// maxRequest exceeds DynamoDB's limit of 16 MB.
const maxRequest = 17 << 20

// errBody reports that a request's body ended early or has malformed chunks.
var errBody = errors.New("the request's body can't be read")

// RoundTrip sends a request to the engine, or throttles it as AWS would. It does not change req. It returns an error if
// the body can't be read or the engine sends no usable response.
func (l *Limiter) RoundTrip(req *http.Request) (*http.Response, error) {
	operation, ok := strings.CutPrefix(req.Header.Get("X-Amz-Target"), targetPrefix)
	if !ok || req.Body == nil || req.ContentLength > maxRequest {
		return l.options.Base.RoundTrip(req)
	}
	body, err := readAll(req.Body, req.ContentLength, maxRequest+1)
	if err == nil && len(body) > maxRequest {
		return l.passTooLong(req, body)
	}
	if err := errors.Join(err, req.Body.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", operation, errBody, err)
	}
	c := &call{l, req, operation, body}
	if jsontext.Value(body).Kind() != '{' {
		return c.passThrough() // the engine will reject it
	}
	if handler, ok := handlers[operation]; ok {
		return c.handle(handler)
	}
	return c.handle((*call).passThrough)
}

// passTooLong sends a request of more than maxRequest bytes, which the engine will reject. begin has its first bytes.
func (l *Limiter) passTooLong(req *http.Request, begin []byte) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), req.Body), req.Body}
	return l.options.Base.RoundTrip(req)
}
