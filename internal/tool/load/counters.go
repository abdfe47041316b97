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

const (
	maxNames = 100     // the API's maximum for one read
	maxQuery = 6 << 10 // bytes of the query; gateways bound a URL
)

// readCounters returns the values of counters by name, or an error if any value is missing.
func (d *driver) readCounters(ctx context.Context, names []string, consistent consistency) (map[string]int64, error) {
	values := make(map[string]int64, len(names))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(d.Concurrency)
	for query := range queries(names, consistent) {
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
			return nil, fmt.Errorf("reading counters: the answer lacks %q", name)
		}
	}
	return values, nil
}

type counter struct {
	Counter string `json:"counter"`
	Value   int64  `json:"value"`
}

// queryCounters reads the counters of one query. The response for a single counter has no list.
func (d *driver) queryCounters(ctx context.Context, query string) ([]counter, error) {
	var answer struct {
		counter
		Counters []counter `json:"counters"`
	}
	err := d.getRetried(ctx, "/v1/counters?"+query, &answer)
	if answer.Counter != "" {
		answer.Counters = append(answer.Counters, answer.counter)
	}
	return answer.Counters, err
}

// queries yields query strings within the bounds, which together name all counters.
func queries(names []string, consistent consistency) iter.Seq[string] {
	return func(yield func(string) bool) {
		tail := "consistency=" + string(consistent)
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
