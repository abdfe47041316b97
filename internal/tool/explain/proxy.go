package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/pkg/throttle"
)

const (
	proxySource = "hotshard throttle"
	proxyTime   = 5 * time.Second
	maxReport   = 32 << 20
)

// Proxy returns a function that reads what the throttling proxy at an endpoint counted. It is nil if something else is
// there.
func Proxy(ctx context.Context, endpoint string) func(context.Context) (collect.Limited, error) {
	read := func(ctx context.Context) (collect.Limited, error) {
		ctx, cancel := context.WithTimeout(ctx, proxyTime)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(endpoint, "/")+"/_throttle", nil)
		if err != nil {
			return collect.Limited{}, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return collect.Limited{}, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return collect.Limited{}, fmt.Errorf("%s: HTTP status %d", request.URL, response.StatusCode)
		}
		var r throttle.Report
		if err := json.NewDecoder(io.LimitReader(response.Body, maxReport)).Decode(&r); err != nil {
			return collect.Limited{}, fmt.Errorf("%s: %w", request.URL, err)
		}
		if r.Throttled == nil {
			return collect.Limited{}, fmt.Errorf("%s: it is not a throttling proxy", request.URL)
		}
		return Limited(r, proxySource), nil
	}
	if _, err := read(ctx); err != nil {
		return nil
	}
	return read
}

// Limited returns what a limiter throttled as evidence of the named source.
func Limited(r throttle.Report, source string) collect.Limited {
	out := collect.Limited{Since: r.Since}
	sums := map[throttles.Reason]float64{}
	for _, k := range r.Throttled {
		reason, ok := parse(k)
		if !ok {
			continue
		}
		sums[reason] += k.Count
		if k.Key != "" {
			out.Keys = append(out.Keys, throttles.Key{Reason: reason, Key: k.Key, Throttles: k.Count, Source: source})
		}
	}
	for reason, n := range sums {
		text := fmt.Sprintf("%.0f times %s since it started or was reset", n, reason)
		out.Counts = append(out.Counts, throttles.Count{Reason: reason, Events: n, Source: throttles.Source{Name: source, Text: text}})
	}
	return out
}

// parse returns the reason and resource of a line of the limiter's report.
func parse(k throttle.Throttled) (throttles.Reason, bool) {
	arn := "arn:aws:dynamodb:::table/" + k.Table
	if k.Index != "" {
		arn += "/index/" + k.Index
	}
	return throttles.Parse(k.Reason, arn)
}
