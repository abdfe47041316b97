package load

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// consistency is the consistency of a counter's read.
type consistency string

const (
	eventual consistency = "eventual" // the summary
	strong   consistency = "strong"   // the sum of the write shards
)

// Bounds of one read of counters.
const (
	maxNames = 100     // the API's maximum
	maxQuery = 6 << 10 // bytes of the query; gateways bound a URL
)

// readCounters returns the values of counters by name. A missing value is an error. It makes concurrent calls with retries.
func (d *driver) readCounters(ctx context.Context, names []string, wanted consistency) (map[string]int64, error) {
	values := make(map[string]int64, len(names))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(d.Concurrency)
	for query := range counterQueries(names, wanted) {
		group.Go(func() error {
			answer, err := d.queryCounters(ctx, query)
			mu.Lock()
			defer mu.Unlock()
			for _, a := range answer {
				values[a.Counter] = a.Value
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading counters: %w", err)
	}
	for _, name := range names {
		if _, ok := values[name]; !ok {
			return nil, fmt.Errorf("reading counters: the API's response lacks %q", name)
		}
	}
	return values, nil
}

// counter is a counter as the API returns it.
type counter struct {
	Counter string `json:"counter"`
	Value   int64  `json:"value"`
}

// queryCounters reads the counters of one query. A response with a single counter has no list.
func (d *driver) queryCounters(ctx context.Context, query string) ([]counter, error) {
	var answer struct {
		counter
		Counters []counter `json:"counters"`
	}
	err := d.getWithRetries(ctx, "/v1/counters?"+query, &answer)
	if answer.Counter != "" {
		answer.Counters = append(answer.Counters, answer.counter)
	}
	return answer.Counters, err
}

// counterQueries yields query strings within maxNames and maxQuery. Together they name all counters.
func counterQueries(names []string, wanted consistency) iter.Seq[string] {
	return func(yield func(string) bool) {
		tail := "consistency=" + string(wanted)
		var query strings.Builder
		count := 0
		for _, name := range names {
			part := "name=" + url.QueryEscape(name) + "&"
			tooLong := count > 0 && query.Len()+len(part)+len(tail) > maxQuery
			if count == maxNames || tooLong {
				if !yield(query.String() + tail) {
					return
				}
				query.Reset()
				count = 0
			}
			query.WriteString(part)
			count++
		}
		if count > 0 {
			yield(query.String() + tail)
		}
	}
}
