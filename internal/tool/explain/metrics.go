package explain

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/hotshard/hotshard/internal/base/display"
)

const (
	cloudWatch = "CloudWatch"
	maxQueries = 500             // GetMetricData's limit for one call
	minuteSpan = 3 * time.Hour   // the longest time that is read in periods of a minute
	longPeriod = 5 * time.Minute // the period of longer times
)

// metric is one metric of a table or index, with a value for each period.
type metric struct {
	name, stat string
	dimension  string // name of the dimension whose value is the index
	resource   *Resource
	reason     Reason            // the cause is "" for a total over all causes
	points     map[int64]float64 // by the Unix time of the period's start
}

// metricName returns the name of the metric that counts the throttles of a cause, or of all causes if cause is "".
func metricName(op Operation, cause Cause) string {
	return op.title() + strings.TrimSuffix(string(cause), "Exceeded") + "ThrottleEvents"
}

// series has the metrics of reads or writes of one table or index.
type series struct {
	resource  *Resource
	op        Operation
	throttled []*metric // the total first, then by cause
	consumed  *metric
	requests  *metric
}

// readMetrics adds the throttles and the consumed capacity of all resources, or a note if they can't be read.
func (c *collection) readMetrics(ctx context.Context) {
	var all []*metric
	var list []*series
	addMetric := func(s *series, name, stat string, cause Cause) *metric {
		reason := Reason{ID: s.resource.ID, Operation: s.op, Cause: cause}
		m := &metric{name: name, stat: stat, dimension: "GlobalSecondaryIndexName", resource: s.resource, reason: reason, points: map[int64]float64{}}
		all = append(all, m)
		return m
	}
	for i := range c.Resources {
		for _, op := range []Operation{Read, Write} {
			s := &series{resource: &c.Resources[i], op: op}
			for _, cause := range append([]Cause{""}, Causes...) {
				s.throttled = append(s.throttled, addMetric(s, metricName(op, cause), "Sum", cause))
			}
			consumed := "Consumed" + op.title() + "CapacityUnits"
			s.consumed, s.requests = addMetric(s, consumed, "Sum", ""), addMetric(s, consumed, "SampleCount", "")
			list = append(list, s)
		}
	}
	for first := 0; first < len(all); first += maxQueries {
		if err := c.queryMetrics(ctx, all[first:min(first+maxQueries, len(all))]); err != nil {
			c.noteError(err, "Throttles by reason are unknown", "cloudwatch:GetMetricData")
			return
		}
	}
	c.Counted = true
	for _, s := range list {
		s.addCounts(c)
	}
}

// period returns the length of a metric's periods.
func (c *collection) period() time.Duration {
	if c.To.Sub(c.From) <= minuteSpan {
		return time.Minute
	}
	return longPeriod
}

// queryMetrics sets the points of at most maxQueries metrics.
func (c *collection) queryMetrics(ctx context.Context, metrics []*metric) error {
	byID := map[string]*metric{}
	from, to := c.From.Truncate(c.period()), c.To
	input := &cloudwatch.GetMetricDataInput{StartTime: &from, EndTime: &to}
	for i, m := range metrics {
		id := fmt.Sprint("m", i)
		byID[id] = m
		dimensions := []types.Dimension{{Name: aws.String("TableName"), Value: &m.resource.Table}}
		if m.resource.Index != "" {
			dimensions = append(dimensions, types.Dimension{Name: &m.dimension, Value: &m.resource.Index})
		}
		input.MetricDataQueries = append(input.MetricDataQueries, types.MetricDataQuery{Id: &id, MetricStat: &types.MetricStat{
			Metric: &types.Metric{Namespace: aws.String("AWS/DynamoDB"), MetricName: &m.name, Dimensions: dimensions},
			Period: aws.Int32(int32(c.period().Seconds())), Stat: &m.stat,
		}})
	}
	for pages := cloudwatch.NewGetMetricDataPaginator(c.CloudWatch, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, result := range page.MetricDataResults {
			if result.StatusCode == types.StatusCodeInternalError || result.StatusCode == types.StatusCodeForbidden {
				return fmt.Errorf("metric %s has the status %s", aws.ToString(result.Label), result.StatusCode)
			}
			for i, at := range result.Timestamps {
				if m := byID[aws.ToString(result.Id)]; m != nil && i < len(result.Values) {
					m.points[at.Unix()] = result.Values[i]
				}
			}
		}
	}
	return nil
}

// addCounts adds the throttles of one operation on one table or index to the evidence, and sets the capacity that was used.
func (s *series) addCounts(c *collection) {
	seconds := c.period().Seconds()
	use := &s.resource.Writes
	if s.op == Read {
		use = &s.resource.Reads
	}
	for _, units := range s.consumed.points {
		use.Peak = max(use.Peak, units/seconds)
	}
	for _, n := range s.requests.points {
		use.Requests += n
	}
	for _, m := range s.throttled {
		sum, periods := 0.0, 0
		for _, n := range m.points {
			if n > 0 {
				sum, periods = sum+n, periods+1
			}
		}
		if sum > 0 {
			minutes := periods * int(c.period()/time.Minute)
			text := fmt.Sprintf("%s: %.0f within %s", m.name, sum, display.Several(minutes, "minute"))
			c.Counts = append(c.Counts, Count{Reason: m.reason, Events: sum, Minutes: minutes, Source: Source{Name: cloudWatch, Text: text}})
		}
	}
}
