package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/tool/console"
)

// throttledMetrics reads the throttled writes of tables, added up, from CloudWatch's metric WriteThrottleEvents. It is
// safe for concurrent use.
type throttledMetrics struct {
	client cloudwatch.GetMetricDataAPIClient
	tables []string
	now    func() time.Time

	mu      sync.Mutex
	indexes map[string]*throttledSeries // by index; "" is the tables themselves
}

// throttledSeries caches one metric.
type throttledSeries struct {
	asked   time.Time       // time of the last call
	read    time.Time       // time of the last successful call
	minutes map[int64]int64 // throttled writes, by the Unix time of their minute
	note    string          // reason of the last call's failure; "" if it succeeded
}

// Bounds of calls. GetMetricData is billed for each metric of a call.
const (
	metricAge     = time.Minute        // age at which a cached metric is refreshed
	metricSpan    = 7 * 24 * time.Hour // span of the first call, as long as a map may be
	metricDelay   = 15 * time.Minute   // newer figures may still change
	metricLag     = 3 * time.Minute    // newer figures may be missing
	metricTimeout = 5 * time.Second
	maxSeries     = 32 // a table has 20 global indexes by default
)

// signals returns the throttled writes in the span, by the minute.
func (m *throttledMetrics) signals(ctx context.Context, span console.Span) console.Signals {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.series(span.Index)
	if m.now().Sub(s.asked) >= metricAge {
		m.refresh(ctx, span.Index, s)
	}
	if s.note != "" {
		return console.Signals{Note: s.note}
	}
	out := console.Signals{
		Source: "cloudwatch", Throttled: make([]int64, span.Columns()),
		KnownFrom: s.read.Add(-metricSpan), KnownTo: s.read.Add(-metricLag),
	}
	for minute, count := range s.minutes {
		span.Spread(out.Throttled, time.Unix(minute, 0), time.Minute, count)
	}
	return out
}

// series returns the cache of an index. Beyond maxSeries it drops another one.
func (m *throttledMetrics) series(index string) *throttledSeries {
	if m.indexes[index] == nil {
		for other := range m.indexes {
			if len(m.indexes) < maxSeries {
				break
			}
			delete(m.indexes, other)
		}
		m.indexes[index] = &throttledSeries{minutes: map[int64]int64{}}
	}
	return m.indexes[index]
}

// refresh reads the newest figures. If ctx ends, the next call reads them.
func (m *throttledMetrics) refresh(ctx context.Context, index string, s *throttledSeries) {
	now := m.now()
	from := now.Add(-metricSpan)
	if !s.read.IsZero() {
		from = s.read.Add(-metricDelay)
	}
	bounded, cancel := context.WithTimeout(ctx, metricTimeout)
	defer cancel()
	points, err := m.readByMinute(bounded, index, from.Truncate(time.Minute), now)
	if ctx.Err() != nil {
		return
	}
	s.asked, s.note = now, whyUnknown(err)
	if err != nil {
		return
	}
	s.read = now
	for minute := range s.minutes {
		if minute < now.Add(-metricSpan).Unix() {
			delete(s.minutes, minute)
		}
	}
	for minute, count := range points {
		s.minutes[minute] = count
	}
}

// incompleteMetric is the status of a metric that CloudWatch did not return completely.
type incompleteMetric types.StatusCode

func (e incompleteMetric) Error() string {
	return "CloudWatch returned a metric with status " + string(e)
}

// readByMinute returns the throttled writes of each minute that has any: DynamoDB sends no zeros.
func (m *throttledMetrics) readByMinute(ctx context.Context, index string, from, to time.Time) (map[int64]int64, error) {
	var queries []types.MetricDataQuery
	for i, table := range m.tables {
		dimensions := []types.Dimension{{Name: aws.String("TableName"), Value: &table}}
		if index != "" {
			dimensions = append(dimensions, types.Dimension{Name: aws.String("GlobalSecondaryIndexName"), Value: &index})
		}
		queries = append(queries, types.MetricDataQuery{Id: aws.String(fmt.Sprint("throttled", i)), MetricStat: &types.MetricStat{
			Metric: &types.Metric{Namespace: aws.String("AWS/DynamoDB"), MetricName: aws.String("WriteThrottleEvents"), Dimensions: dimensions},
			Period: aws.Int32(60), Stat: aws.String("Sum"),
		}})
	}
	points := map[int64]int64{}
	pages := cloudwatch.NewGetMetricDataPaginator(m.client, &cloudwatch.GetMetricDataInput{
		StartTime: &from, EndTime: &to, MetricDataQueries: queries,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, series := range page.MetricDataResults {
			partial := series.StatusCode == types.StatusCodePartialData && pages.HasMorePages()
			if series.StatusCode != types.StatusCodeComplete && !partial {
				return nil, incompleteMetric(series.StatusCode)
			}
			for i, at := range series.Timestamps {
				points[at.Unix()] += int64(series.Values[i] + 0.5)
			}
		}
	}
	return points, nil
}

// whyUnknown returns one sentence on why CloudWatch returned no figures, and what to do, or "" without an error.
func whyUnknown(err error) string {
	if err == nil {
		return ""
	}
	if status, ok := errors.AsType[incompleteMetric](err); ok {
		return fmt.Sprintf("Throttled writes are unknown: %v. The next attempt is in a minute.", status)
	}
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		switch fault.ErrorCode() {
		case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation":
			return "Throttled writes are unknown: grant your credentials cloudwatch:GetMetricData to see them."
		}
		return fmt.Sprintf("Throttled writes are unknown: CloudWatch answered %s (%.200s).", fault.ErrorCode(), fault.ErrorMessage())
	}
	return "Throttled writes are unknown: CloudWatch did not answer."
}

// withSplits adds the splits of stream shards.
func withSplits(signals func(context.Context, console.Span) console.Signals, splits func() []eventsource.Split) func(context.Context, console.Span) console.Signals {
	return func(ctx context.Context, span console.Span) console.Signals {
		out := signals(ctx, span)
		for _, s := range splits() {
			text := fmt.Sprintf("Stream shard %s split into %d.", s.Parent, s.Children)
			out.Splits = append(out.Splits, console.SplitSignal{Time: s.Time, What: "stream shard", Text: text})
		}
		return out
	}
}

// noMetrics reports that an engine has no CloudWatch metrics.
func noMetrics(context.Context, console.Span) console.Signals {
	return console.Signals{Note: "Throttled writes are unknown: the engine at --endpoint has no CloudWatch metrics."}
}
