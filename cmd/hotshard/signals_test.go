package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/aws/streamshard"
	"github.com/hotshard/hotshard/internal/tool/console"
)

// metricsFake responds with 60 throttled writes at 12:00 for each metric, or fails.
type metricsFake struct {
	inputs []*cloudwatch.GetMetricDataInput
	err    error
	status types.StatusCode // Complete if ""
}

var noonOfMay = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (f *metricsFake) GetMetricData(_ context.Context, in *cloudwatch.GetMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
	f.inputs = append(f.inputs, in)
	if f.err != nil {
		return nil, f.err
	}
	out := &cloudwatch.GetMetricDataOutput{}
	for range in.MetricDataQueries {
		out.MetricDataResults = append(out.MetricDataResults, types.MetricDataResult{
			Timestamps: []time.Time{noonOfMay}, Values: []float64{60}, StatusCode: cmp.Or(f.status, types.StatusCodeComplete),
		})
	}
	return out, nil
}

// TestThrottledWritesOfCloudWatch checks that polls within a minute use the cache, and that later calls read only the
// last quarter of an hour.
func TestThrottledWritesOfCloudWatch(t *testing.T) {
	fake, now := &metricsFake{}, noonOfMay.Add(90*time.Second)
	m := &throttledMetrics{client: fake, tables: []string{"orders"}, now: func() time.Time { return now }, indexes: map[string]*throttledSeries{}}
	span := console.Span{From: noonOfMay.Add(-time.Minute), To: noonOfMay.Add(2 * time.Minute), Step: 30 * time.Second}
	for range 30 {
		got := m.signals(t.Context(), span)
		if late := now.Sub(got.KnownTo); late < 3*time.Minute || late > 4*time.Minute+3*time.Second {
			t.Fatalf("known up to %v ago, want 3 minutes before CloudWatch was asked", late)
		}
		if want := []int64{0, 0, 30, 30, 0, 0}; got.Source != "cloudwatch" || !slices.Equal(got.Throttled, want) {
			t.Fatalf("got %+v, want %v", got, want)
		}
		now = now.Add(3 * time.Second)
	}
	if len(fake.inputs) != 2 {
		t.Fatalf("%d calls in 90 s, want 2", len(fake.inputs))
	}
	if first, second := fake.inputs[0].EndTime.Sub(*fake.inputs[0].StartTime), fake.inputs[1].EndTime.Sub(*fake.inputs[1].StartTime); first < 7*24*time.Hour || second > 20*time.Minute {
		t.Errorf("they ask for %v and %v", first, second)
	}
	span.Index = "by-day"
	m.signals(t.Context(), span)
	metric := fake.inputs[2].MetricDataQueries[0].MetricStat.Metric
	if len(metric.Dimensions) != 2 || *metric.Dimensions[1].Value != "by-day" || *metric.MetricName != "WriteThrottleEvents" {
		t.Errorf("for an index it asks for %+v", metric)
	}
}

func TestThrottledWritesOfTwoTablesAddUp(t *testing.T) {
	fake := &metricsFake{}
	m := &throttledMetrics{client: fake, tables: []string{"items", "events"}, now: func() time.Time { return noonOfMay }, indexes: map[string]*throttledSeries{}}
	got := m.signals(t.Context(), console.Span{From: noonOfMay, To: noonOfMay.Add(time.Minute), Step: time.Minute})
	if !slices.Equal(got.Throttled, []int64{120}) {
		t.Errorf("got %+v", got)
	}
	var asked []string
	for _, q := range fake.inputs[0].MetricDataQueries {
		asked = append(asked, *q.MetricStat.Metric.Dimensions[0].Value)
	}
	if len(fake.inputs) != 1 || !slices.Equal(asked, m.tables) {
		t.Errorf("%d calls ask for %q", len(fake.inputs), asked)
	}
}

func TestNoFiguresOfCloudWatch(t *testing.T) {
	for want, err := range map[string]error{
		"grant your credentials cloudwatch:GetMetricData": &smithy.GenericAPIError{Code: "AccessDenied"},
		"CloudWatch answered Throttling":                  &smithy.GenericAPIError{Code: "Throttling"},
		"CloudWatch did not answer":                       errors.New("connection refused"),
	} {
		fake := &metricsFake{err: err}
		m := &throttledMetrics{client: fake, tables: []string{"orders"}, now: func() time.Time { return noonOfMay }, indexes: map[string]*throttledSeries{}}
		for range 2 {
			got := m.signals(t.Context(), console.Span{From: noonOfMay, To: noonOfMay.Add(time.Minute), Step: time.Second})
			if got.Source != "" || got.Throttled != nil || !strings.Contains(got.Note, want) {
				t.Errorf("%v: %+v", err, got)
			}
		}
		if len(fake.inputs) != 1 {
			t.Errorf("%v: %d calls within a minute", err, len(fake.inputs))
		}
	}
}

func TestIncompleteFiguresOfCloudWatchSignals(t *testing.T) {
	for _, status := range []types.StatusCode{types.StatusCodeInternalError, types.StatusCodePartialData, types.StatusCodeForbidden} {
		m := &throttledMetrics{client: &metricsFake{status: status}, tables: []string{"orders"}, now: func() time.Time { return noonOfMay }, indexes: map[string]*throttledSeries{}}
		got := m.signals(t.Context(), console.Span{From: noonOfMay, To: noonOfMay.Add(time.Minute), Step: time.Second})
		if got.Throttled != nil || !strings.Contains(got.Note, "status "+string(status)) {
			t.Errorf("%s: %+v", status, got)
		}
	}
}

func TestSplitsOfStreamShardsAreSignals(t *testing.T) {
	splits := func() []streamshard.Split {
		return []streamshard.Split{{Time: noonOfMay, Parent: "shardId-7", Children: 2}}
	}
	got := withSplits(noMetrics, splits)(t.Context(), console.Span{From: noonOfMay, To: noonOfMay.Add(time.Minute), Step: time.Second})
	if len(got.Splits) != 1 || got.Splits[0].What != "stream shard" || got.Splits[0].Text != "Stream shard shardId-7 split into 2." || got.Note == "" {
		t.Errorf("got %+v", got)
	}
}

func TestCommandLineCanBeRunAgain(t *testing.T) {
	for want, line := range map[string]commandLine{
		"bin/hotshard local --addr 127.0.0.1:9000 --partitions 64":      {"bin/hotshard", "local", "--addr", "127.0.0.1:9000", "--partitions", "64"},
		"hotshard console --table 'a b' --endpoint http://x:1":          {"hotshard", "console", "--table", "a b", "--endpoint", "http://x:1"},
		`hotshard top --prefix 'it'\''s' --endpoint http://localhost:8`: {"hotshard", "top", "--prefix", "it's"},
		"hotshard local --endpoint=http://y:2":                          {"hotshard", "local", "--endpoint=http://y:2"},
	} {
		endpoint := "http://localhost:8"
		if strings.Contains(want, "partitions") {
			endpoint = ""
		}
		if got := line.withFlag("endpoint", endpoint); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
