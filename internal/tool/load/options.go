package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// Bounds of the options.
const (
	MaxConcurrency = 1024
	maxRate        = 1_000_000
)

// Options configures a load. A field of 0 has its default.
type Options struct {
	// Target is the API's base URL. Required.
	Target string
	// Sign signs each call if it is not nil. Its error ends the load.
	Sign Sign
	// Source yields the requests. Required.
	Source Source
	// Concurrency is the number of calls in flight: 32 by default, 1 to 1,024.
	Concurrency int
	// Rate is the maximum of requests a second. 0, the default, sends as fast as Concurrency allows.
	Rate float64
	// Retries is how often a call is retried: 30 by default, which outlasts a restart of the API. Pauses grow to 2 s.
	Retries int
	// Verify compares counters and events after the load. It keeps every event in memory: some 300 bytes a request. No other
	// program may write the same names meanwhile. Each increment has an Idempotency-Key, so that it can be retried after an
	// unknown outcome. The key costs the API a transaction. Events need no key.
	Verify bool
	// Settle is how long verification waits without progress of the summaries: 30 s by default, and 20 times as long in all.
	Settle time.Duration
	// CountersOnly sends each request's increment, but no event.
	CountersOnly bool
	// Progress is called with the number of requests since its last call, by several goroutines; may be nil.
	Progress func(requests int)
}

func (o Options) withDefaults() Options {
	o.Target = strings.TrimSuffix(o.Target, "/")
	o.Concurrency = cmp.Or(o.Concurrency, 32)
	o.Retries = cmp.Or(o.Retries, 30)
	o.Settle = cmp.Or(o.Settle, 30*time.Second)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

// Validate returns an error of one line that names all invalid options, or nil. It does not read the source.
func (o Options) Validate() error {
	o = o.withDefaults()
	var faults []string
	addIf := func(invalid bool, format string, args ...any) {
		if invalid {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	target, err := url.Parse(o.Target)
	addIf(err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https"),
		"target %q: want a URL such as http://127.0.0.1:8080", o.Target)
	addIf(o.Concurrency < 1 || o.Concurrency > MaxConcurrency, "concurrency %d: want 1 to %d", o.Concurrency, MaxConcurrency)
	addIf(math.IsNaN(o.Rate) || o.Rate < 0 || o.Rate > maxRate, "rate %g: want 0 to %d requests a second", o.Rate, maxRate)
	addIf(o.Retries < 0, "retries %d: want 0 or more", o.Retries)
	addIf(o.Settle < 0, "settle %s: want 0 or more", o.Settle)
	if faults == nil {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}
