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

	"github.com/hotshard/hotshard/internal/tool/console"
)

// throttledMetrics reads the throttled writes of tables, added up, from CloudWatch's metric WriteThrottleEvents. It is
// safe for concurrent use.
type throttledMetrics struct {
	client cloudwatch.GetMetricDataAPIClient
	tables []string
	now    func() time.Time

	mu      sync.Mutex
	indexes map[string]throttledSeries // by index; "" is the tables themselves
}

// throttledSeries is one metric, as it was read.
type throttledSeries struct {
	read    time.Time
	minutes map[int64]int64 // throttled writes, by the Unix time of their minute
	note    string          // reason of a failure; "" if it was read
}

// Bounds of calls. GetMetricData is billed for each metric of a call.
const (
	metricAge     = time.Minute        // age at which a metric is read again
	metricSpan    = 7 * 24 * time.Hour // as long as a map may be
	metricLag     = 3 * time.Minute    // newer figures may be missing
	metricTimeout = 5 * time.Second
	maxSeries     = 32 // a table has 20 global indexes by default
)

// signals returns the throttled writes in the span, by the minute. If ctx ends, the next call reads them.
func (m *throttledMetrics) signals(ctx context.Context, span console.Span) console.Signals {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	s, known := m.indexes[span.Index]
	if !known || now.Sub(s.read) >= metricAge {
		bounded, cancel := context.WithTimeout(ctx, metricTimeout)
		defer cancel()
		minutes, err := m.readByMinute(bounded, span.Index, now.Add(-metricSpan).Truncate(time.Minute), now)
		s = throttledSeries{read: now, minutes: minutes, note: whyUnknown(err)}
		if ctx.Err() == nil {
			m.keep(span.Index, s)
		}
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

// keep keeps an index's series for a minute. If there are too many, it drops the others.
func (m *throttledMetrics) keep(index string, s throttledSeries) {
	if len(m.indexes) >= maxSeries {
		clear(m.indexes)
	}
	m.indexes[index] = s
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

// noMetrics reports that an engine has no CloudWatch metrics.
func noMetrics(context.Context, console.Span) console.Signals {
	return console.Signals{Note: "Throttled writes are unknown: the engine at --endpoint has no CloudWatch metrics."}
}
