package limiter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/local/partitions"
)

// Limiter is an http.RoundTripper for clients of DynamoDB. It is safe for
// concurrent use.
type Limiter struct {
	options Options
	gate    *partitions.Gate
	holds   *partitions.Holds

	mu     sync.Mutex // guards what follows
	tables map[string]*table
	stats  *counts
}

// New returns a limiter whose buckets are full. The error is [Options.Validate]'s.
func New(options Options) (*Limiter, error) {
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("partition limiter: %w", err)
	}
	o := options.withDefaults()
	return &Limiter{
		options: o,
		gate: partitions.New(partitions.Limits{
			Partitions: o.Partitions, PartitionWCU: o.PartitionWCU, PartitionRCU: o.PartitionRCU, TableWCU: o.TableWCU,
			Burst: o.Burst, SplitAfter: o.SplitAfter, Seed: o.Seed, Now: o.Now,
		}),
		holds:  partitions.NewHolds(o.TransactionHold, o.Now),
		tables: map[string]*table{},
		stats:  newCounts(),
	}, nil
}

// Partition returns the partition, counted from 0, that a partition key begins on
// in every table and index: key is a string's text, a number's digits (42, -1,
// 15e-1), or a binary value in base64. The key's hash says which: partitions begin
// as equal ranges of hashes. It does not follow splits.
func (l *Limiter) Partition(key string) int { return l.gate.Partition(key) }

// Partitions tells how many partitions a table has now, its indexes not counted.
// One that no request has named yet has those that it will begin with; of tables of
// one name in several databases it is the one with the most.
func (l *Limiter) Partitions(table string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.partitions(spaceName{table: table})
}

func (l *Limiter) partitions(name spaceName) int {
	most := l.options.Partitions
	for _, t := range l.tables {
		for _, s := range append(slices.Clone(t.global), t.Space) {
			if nameOf(s) == name {
				most = max(most, s.Partitions())
			}
		}
	}
	return most
}

// settle replaces what was taken at admission by the true charges, and counts those.
func (l *Limiter) settle(operation string, taken, charges []partitions.Charge) {
	l.gate.Settle(taken, charges)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range charges {
		l.stats.charged(operation, c)
	}
}

// wait returns when a hold ends.
func (l *Limiter) wait(ctx context.Context, until int64) {
	if d := until - l.options.Now().UnixNano(); until != 0 && d > 0 {
		l.options.Sleep(ctx, time.Duration(d))
	}
}

// handlers are the operations that the limiter knows.
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
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRequest+1))
	if err == nil && len(body) > maxRequest {
		longer := req.Clone(req.Context())
		longer.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), req.Body), req.Body}
		return l.options.Base.RoundTrip(longer)
	}
	err = errors.Join(err, req.Body.Close())
	if err != nil {
		return nil, fmt.Errorf("reading the body of %s: %w", operation, err)
	}
	return handle(&call{exchange{l.options.Base, req, operation, body}, l})
}
