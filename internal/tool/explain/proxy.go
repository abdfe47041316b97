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
	"github.com/hotshard/hotshard/pkg/throttle"
)

const (
	proxySource = "hotshard throttle"
	proxyTime   = 5 * time.Second
	maxReport   = 32 << 20
)

// Proxy returns a function that reads what the throttling proxy at an endpoint counted. It is nil if something else is
// there.
func Proxy(ctx context.Context, endpoint string) func(context.Context) (throttle.Report, error) {
	read := func(ctx context.Context) (r throttle.Report, err error) {
		ctx, cancel := context.WithTimeout(ctx, proxyTime)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(endpoint, "/")+"/_throttle", nil)
		if err != nil {
			return r, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return r, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return r, fmt.Errorf("%s: HTTP status %d", request.URL, response.StatusCode)
		}
		if err := json.NewDecoder(io.LimitReader(response.Body, maxReport)).Decode(&r); err != nil {
			return r, fmt.Errorf("%s: %w", request.URL, err)
		}
		if r.Throttled == nil {
			return r, fmt.Errorf("%s: it is not a throttling proxy", request.URL)
		}
		return r, nil
	}
	if _, err := read(ctx); err != nil {
		return nil
	}
	return read
}

// askProxy adds what the proxy throttled, by reason and key.
func (c *collection) askProxy(ctx context.Context) {
	report, err := c.Proxy(ctx)
	if err != nil {
		c.note("Throttles of the proxy are unknown: %v.", err)
		return
	}
	c.Counted, c.From = true, report.Since // its counts have no times
	sums := map[throttles.Reason]float64{}
	for _, k := range report.Throttled {
		reason, ok := parse(k)
		if !ok || !c.wanted(reason.ID) {
			continue
		}
		sums[reason] += k.Count
		if k.Key != "" {
			c.Keys = append(c.Keys, throttles.Key{Reason: reason, Key: k.Key, Throttles: k.Count, Source: proxySource})
		}
	}
	for reason, n := range sums {
		text := fmt.Sprintf("%.0f times %s since it started or was reset", n, reason)
		c.Counts = append(c.Counts, throttles.Count{Reason: reason, Events: n, Source: throttles.Source{Name: proxySource, Text: text}})
	}
}

// parse returns the reason and resource of a line of the proxy's report.
func parse(k throttle.Throttled) (throttles.Reason, bool) {
	arn := "arn:aws:dynamodb:::table/" + k.Table
	if k.Index != "" {
		arn += "/index/" + k.Index
	}
	return throttles.Parse(k.Reason, arn)
}
