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

	"github.com/hotshard/hotshard/internal/tool/console"
)

// fakeMetrics responds with 60 throttled writes at 12:00 for each metric, or fails.
type fakeMetrics struct {
	inputs []*cloudwatch.GetMetricDataInput
	err    error
	status types.StatusCode // Complete if ""
}

var noonOfMay = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (f *fakeMetrics) GetMetricData(_ context.Context, in *cloudwatch.GetMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
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

// metricsOf returns metrics of tables that read the fake, by a clock.
func metricsOf(f *fakeMetrics, now func() time.Time, tables ...string) *throttledMetrics {
	return &throttledMetrics{client: f, tables: tables, now: now, indexes: map[string]throttledSeries{}}
}

func atNoon() time.Time { return noonOfMay }

// TestThrottledWritesOfCloudWatch checks that polls within a minute use the cache.
func TestThrottledWritesOfCloudWatch(t *testing.T) {
	fake, now := &fakeMetrics{}, noonOfMay.Add(90*time.Second)
	m := metricsOf(fake, func() time.Time { return now }, "orders")
	span := console.Span{From: noonOfMay.Add(-time.Minute), To: noonOfMay.Add(2 * time.Minute), Step: 30 * time.Second}
	for range 30 {
		got := m.signals(t.Context(), span)
		if late := now.Sub(got.KnownTo); late < 3*time.Minute || late > 4*time.Minute+3*time.Second {
			t.Fatalf("known up to %v ago, want 3 minutes before the last call", late)
		}
		if want := []int64{0, 0, 30, 30, 0, 0}; got.Source != "cloudwatch" || !slices.Equal(got.Throttled, want) {
			t.Fatalf("signals %+v, want %v of cloudwatch", got, want)
		}
		now = now.Add(3 * time.Second)
	}
	if len(fake.inputs) != 2 {
		t.Fatalf("%d calls in 90 s, want 2", len(fake.inputs))
	}
	if read := fake.inputs[1].EndTime.Sub(*fake.inputs[1].StartTime); read < 7*24*time.Hour {
		t.Errorf("a call reads %v, want a week", read)
	}
	span.Index = "by-day"
	m.signals(t.Context(), span)
	metric := fake.inputs[2].MetricDataQueries[0].MetricStat.Metric
	if len(metric.Dimensions) != 2 || *metric.Dimensions[1].Value != "by-day" || *metric.MetricName != "WriteThrottleEvents" {
		t.Errorf("the metric of an index is %+v", metric)
	}
}

func TestThrottledWritesOfTwoTablesAddUp(t *testing.T) {
	fake := &fakeMetrics{}
	m := metricsOf(fake, atNoon, "items", "events")
	got := m.signals(t.Context(), console.Span{From: noonOfMay, To: noonOfMay.Add(time.Minute), Step: time.Minute})
	if !slices.Equal(got.Throttled, []int64{120}) {
		t.Errorf("signals %+v, want the sum of 120", got)
	}
	var tables []string
	for _, q := range fake.inputs[0].MetricDataQueries {
		tables = append(tables, *q.MetricStat.Metric.Dimensions[0].Value)
	}
	if len(fake.inputs) != 1 || !slices.Equal(tables, m.tables) {
		t.Errorf("%d calls for the tables %q, want one for %q", len(fake.inputs), tables, m.tables)
	}
}

// TestCloudWatchFails checks that a failed call is explained in a note, and cached for a minute too.
func TestCloudWatchFails(t *testing.T) {
	for want, err := range map[string]error{
		"grant your credentials cloudwatch:GetMetricData": &smithy.GenericAPIError{Code: "AccessDenied"},
		"CloudWatch answered Throttling":                  &smithy.GenericAPIError{Code: "Throttling"},
		"CloudWatch did not answer":                       errors.New("connection refused"),
	} {
		fake := &fakeMetrics{err: err}
		m := metricsOf(fake, atNoon, "orders")
		for range 2 {
			got := m.signals(t.Context(), console.Span{From: noonOfMay, To: noonOfMay.Add(time.Minute), Step: time.Second})
			if got.Source != "" || got.Throttled != nil || !strings.Contains(got.Note, want) {
				t.Errorf("%v: signals %+v, want only the note %q", err, got, want)
			}
		}
		if len(fake.inputs) != 1 {
			t.Errorf("%v: %d calls within a minute, want 1", err, len(fake.inputs))
		}
	}
}

// TestIncompleteDataOfCloudWatch checks that incomplete data is not shown, and that a note has its status.
func TestIncompleteDataOfCloudWatch(t *testing.T) {
	for _, status := range []types.StatusCode{types.StatusCodeInternalError, types.StatusCodePartialData, types.StatusCodeForbidden} {
		got := metricsOf(&fakeMetrics{status: status}, atNoon, "orders").signals(t.Context(), console.Span{From: noonOfMay, To: noonOfMay.Add(time.Minute), Step: time.Second})
		if got.Throttled != nil || !strings.Contains(got.Note, "status "+string(status)) {
			t.Errorf("%s: signals %+v, want a note only", status, got)
		}
	}
}

// TestCommandLineCanBeRunAgain checks that a printed command line is quoted, and has the endpoint of the environment.
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
			t.Errorf("command %s\nwant    %s", got, want)
		}
	}
}
