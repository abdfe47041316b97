package load

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Bounds of the options.
const (
	MaxConcurrency = 1024
	MaxBatch       = 500 // the lowest maximum of the API's calls
	maxKeyedBatch  = 99  // the API's maximum with an Idempotency-Key
	MaxRetries     = 1000
	maxRate        = 1_000_000
)

// Options configures a load. Zero values select defaults.
type Options struct {
	// Target is the API's base URL. Required.
	Target string
	// Sign signs each call if it is not nil. Its error ends the load.
	Sign Sign
	// Source yields the requests. Required.
	Source Source
	// Concurrency is the number of calls in flight: 32 by default, 1 to 1,024.
	Concurrency int
	// Batch is the number of requests whose events share a call, and likewise their increments: 1 by default, up
	// to 500, or 99 with Keyed.
	Batch int
	// Rate is the maximum of requests a second. 0, the default, sends as fast as Concurrency allows.
	Rate float64
	// Retries is how often a call is retried: 30 by default, negative for never. Pauses grow to
	// 2 s, so the default outlasts a restart of the API.
	Retries int
	// Keyed sends increments with an Idempotency-Key, so that they can be retried after
	// an unknown outcome. Each such call costs the API a transaction. Events need no key.
	Keyed bool
	// Verify compares counters and events afterwards. It keeps every event in memory: some 300
	// bytes a request. No other program may write the same names meanwhile.
	Verify bool
	// Settle is how long verification waits without progress of the summaries: 30 s by default. In all it waits up to
	// 20 times as long.
	Settle time.Duration
	// CountersOnly sends each request's increment, but no event.
	CountersOnly bool
	// Progress is called after each batch with its number of requests, concurrently; may be nil.
	Progress func(requests int)
}

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

// Validate returns an error of one line that names all invalid options, or nil. It does not read the source.
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
	fault(o.Batch < 1 || o.Batch > maxBatch, "batch %d: want 1 to %d (%d with keyed calls, as --verify makes)", o.Batch, MaxBatch, maxKeyedBatch)
	fault(!(o.Rate >= 0 && o.Rate <= maxRate), "rate %g: want 0 to %d requests a second", o.Rate, maxRate)
	fault(o.Retries > MaxRetries, "retries %d: want at most %d", o.Retries, MaxRetries)
	fault(o.Settle < 0, "settle %s: want more than 0", o.Settle)
	if faults == nil {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}
