package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/pkg/throttle"
)

const (
	proxySource  = "hotshard throttle"
	proxyTimeout = 5 * time.Second
	maxReport    = 32 << 20 // bytes of a proxy's report that are read
)

// ProxyReader returns a function that reads what the throttling proxy at an endpoint counted. It calls the endpoint, and
// returns nil if no throttling proxy answers.
func ProxyReader(ctx context.Context, endpoint string) func(context.Context) (LimitedCalls, error) {
	read := func(ctx context.Context) (LimitedCalls, error) {
		ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(endpoint, "/")+"/_throttle", nil)
		if err != nil {
			return LimitedCalls{}, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return LimitedCalls{}, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return LimitedCalls{}, fmt.Errorf("%s: HTTP status %d", request.URL, response.StatusCode)
		}
		var r throttle.Report
		if err := json.NewDecoder(io.LimitReader(response.Body, maxReport)).Decode(&r); err != nil {
			return LimitedCalls{}, fmt.Errorf("%s: %w", request.URL, err)
		}
		if r.Totals == nil {
			return LimitedCalls{}, fmt.Errorf("%s: this is no throttling proxy: its report has no totals", request.URL)
		}
		return LimiterEvidence(r, proxySource), nil
	}
	if _, err := read(ctx); err != nil {
		return nil
	}
	return read
}

// LimiterEvidence returns a limiter's report as evidence. source is the limiter's name in the explanation.
func LimiterEvidence(report throttle.Report, source string) LimitedCalls {
	calls := LimitedCalls{Since: report.Since}
	for _, table := range report.Tables {
		for _, p := range table.Partitions {
			calls.PartitionWCU, calls.PartitionRCU = max(calls.PartitionWCU, float64(p.WCU)), max(calls.PartitionRCU, float64(p.RCU))
		}
	}
	listed := map[Reason]float64{} // throttles in report.Throttled
	for _, k := range report.Throttled {
		reason, ok := limiterReason(k.Reason, k.Table, k.Index)
		if !ok {
			continue
		}
		listed[reason] += k.Count
		if k.Key != "" {
			calls.Keys = append(calls.Keys, Key{Reason: reason, Key: k.Key, Throttles: k.Count, Source: source})
		}
	}
	for _, total := range report.Totals {
		reason, ok := limiterReason(total.Reason, total.Table, total.Index)
		switch {
		case total.Table == "":
			calls.Unnamed += float64(total.Count)
		case ok:
			calls.Counts = append(calls.Counts, limiterCount(reason, total, listed[reason], source))
		}
	}
	return calls
}

// limiterCount returns a total as evidence. listed is the number of these throttles on keys that the report lists.
func limiterCount(reason Reason, total throttle.Total, listed float64, source string) Count {
	events := float64(total.Count)
	text := fmt.Sprintf("%s %s since it started or was reset", display.Several(int(total.Count), "time"), reason)
	if listed == 0 {
		text += ", none of them on the keys that it lists"
	} else if listed < events {
		text += fmt.Sprintf(", at least %.0f of them on the keys that it lists", listed)
	}
	return Count{Reason: reason, Events: events, Rate: total.Units / float64(max(1, total.Seconds)), Source: Source{Name: source, Text: text}}
}

// limiterReason returns a reason of the limiter's report on its table or index. ok is false if the reason is unknown.
func limiterReason(reason, table, index string) (r Reason, ok bool) {
	arn := "arn:aws:dynamodb:::table/" + table
	if index != "" {
		arn += "/index/" + index
	}
	return ParseReason(reason, arn)
}
