package load

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/apicall"
	"github.com/hotshard/hotshard/internal/workload"
)

// Bounds of the options.
const (
	MaxConcurrency = 1024
	MaxBatch       = 500 // the API's own
	maxKeyedBatch  = 99  // the API's own, with an Idempotency-Key
	MaxRetries     = 1000
	maxRate        = 1_000_000
)

// Options say what to send, where to and how. Zero values stand for defaults.
type Options struct {
	// Target is the API's base URL. Required.
	Target string
	// Sign, if not nil, signs each call. An error of it ends the load.
	Sign apicall.Sign
	// Source has the requests. Required.
	Source workload.Source
	// Concurrency is the number of calls in flight, without the probe's: 32 by
	// default, 1 to 1,024.
	Concurrency int
	// Batch is the number of requests whose events share a call, and likewise
	// their increments and their scores: 1 by default, up to 500, or 99 with Keyed.
	Batch int
	// Rate is the number of requests a second that are begun, so long as
	// Concurrency allows. 0, the default, is as fast as possible.
	Rate float64
	// Board is the name of a leaderboard of sums to which each request's bytes are
	// added as a score of its client; "" is none. It must have no scores of another
	// mode; its top keeps 100 entries from then on, of all time only.
	Board string
	// Retries is how often a call is sent again: 30 by default. The pauses
	// between grow to 2 s, so this outlasts a restart of the API. Negative: none.
	Retries int
	// Keyed sends each call of increments, and of scores, under an
	// Idempotency-Key, so that it may be sent again after a lost answer. The API
	// pays a transaction for it.
	// Events need no key.
	Keyed bool
	// Verify compares counters, events and the board afterwards. It keeps every
	// event's identity and data in memory: some 300 bytes a request. Nobody else may
	// write the same names meanwhile, or anything to the board.
	Verify bool
	// Settle is how long verification waits for summaries that come no nearer
	// to their write shards: 30 s by default.
	Settle time.Duration
	// Bare, if not nil, does the same writes without the API, in turns with it.
	// Not with Rate.
	Bare *Bare
	// Progress, if not nil, is told after each batch how many requests it had.
	// It is called by several goroutines at a time.
	Progress func(requests int)
}

// withDefaults returns the options with defaults in place of zero values.
func (o Options) withDefaults() Options {
	o.Target = strings.TrimSuffix(o.Target, "/")
	o.Concurrency = cmp.Or(o.Concurrency, 32)
	o.Batch = cmp.Or(o.Batch, 1)
	o.Retries = max(0, cmp.Or(o.Retries, 30))
	o.Settle = cmp.Or(o.Settle, 30*time.Second)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

// Validate reports all faults at once, in one line. The source is not looked at.
func (o Options) Validate() error {
	o = o.withDefaults()
	maxBatch := MaxBatch
	if o.Keyed {
		maxBatch = maxKeyedBatch
	}
	var faults []string
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	target, err := url.Parse(o.Target)
	fault(err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https",
		"target %q: want a URL such as http://127.0.0.1:8080", o.Target)
	fault(o.Concurrency < 1 || o.Concurrency > MaxConcurrency, "concurrency %d: want 1 to %d", o.Concurrency, MaxConcurrency)
	fault(o.Batch < 1 || o.Batch > maxBatch, "batch %d: want 1 to %d (%d with keyed calls)", o.Batch, MaxBatch, maxKeyedBatch)
	fault(o.Board != "" && workload.Name(o.Board) != o.Board, "board %.40q: want 1 to 512 bytes of UTF-8 without control characters", o.Board)
	fault(!(o.Rate >= 0 && o.Rate <= maxRate), "rate %g: want 0 to %d requests a second", o.Rate, maxRate)
	fault(o.Retries > MaxRetries, "retries %d: want at most %d", o.Retries, MaxRetries)
	fault(o.Settle < 0, "settle %s: want more than 0", o.Settle)
	fault(o.Bare != nil && o.Rate > 0, "rate: a baseline compares the fastest with the fastest, so it takes none")
	if faults == nil {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}
