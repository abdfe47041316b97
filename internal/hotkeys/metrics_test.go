package hotkeys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"
)

// fakeCloudWatch records calls.
type fakeCloudWatch struct {
	calls   []*cloudwatch.PutMetricDataInput
	fail    map[int]error // by the call's index
	options cloudwatch.Options
}

func (f *fakeCloudWatch) PutMetricData(_ context.Context, in *cloudwatch.PutMetricDataInput, options ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error) {
	for _, o := range options {
		o(&f.options)
	}
	f.calls = append(f.calls, in)
	return nil, f.fail[len(f.calls)-1]
}

// sizes returns the number of data of each call.
func (f *fakeCloudWatch) sizes() (sizes []int) {
	for _, call := range f.calls {
		sizes = append(sizes, len(call.MetricData))
	}
	return sizes
}

var measuredAt = time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)

// TestCloudWatchDatum checks the namespace, the names, the value, the unit and the time of a datum.
func TestCloudWatchDatum(t *testing.T) {
	fake := new(fakeCloudWatch)
	err := NewCloudWatch(fake).Put(t.Context(), []Datum{tableMetric("items", "KeyWriteUnitsPerSecond", 712.5, unitCountPerSecond, measuredAt, dimension("Key", "C#a"))})
	if err != nil || len(fake.calls) != 1 || *fake.calls[0].Namespace != "Hotshard" || len(fake.calls[0].MetricData) != 1 {
		t.Fatalf("error %v, calls %v; want one of one datum", err, fake.calls)
	}
	if _, once := fake.options.Retryer.(aws.NopRetryer); !once {
		t.Error("the SDK repeats the call, which counts twice")
	}
	d := fake.calls[0].MetricData[0]
	var dims []string
	for _, dim := range d.Dimensions {
		dims = append(dims, *dim.Name+"="+*dim.Value)
	}
	got := fmt.Sprint(*d.MetricName, *d.Value, d.Unit, d.Timestamp.Equal(measuredAt), dims)
	if want := fmt.Sprint("KeyWriteUnitsPerSecond", 712.5, types.StandardUnitCountSecond, true, []string{"TableName=items", "Key=C#a"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCloudWatchBatches checks that a call has few enough data for PutMetricData's limits, and that a failed call is an
// error after which all other data is sent.
func TestCloudWatchBatches(t *testing.T) {
	lost := errors.New("lost")
	fake := &fakeCloudWatch{fail: map[int]error{0: lost}}
	if err := NewCloudWatch(fake).Put(t.Context(), slices.Repeat([]Datum{tableMetric("t", "HotKeys", 1, unitCount, measuredAt)}, 501)); !errors.Is(err, lost) {
		t.Errorf("error %v, want %v", err, lost)
	}
	if diff := cmp.Diff([]int{250, 250, 1}, fake.sizes()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestDimensionValues checks that every key has a valid dimension value of its own, which is the key if that is valid.
func TestDimensionValues(t *testing.T) {
	long := strings.Repeat("é", 600)
	texts := []string{
		"C#page/home", "a b", "100%", "100%25", "", " ", "  ", "%20", ":x", "%3Ax", "a:b", "é", "e\u0301", "\x00", "\x7f", "tab\t",
		long, long + "1", long + "2", strings.Repeat("x", 1024), strings.Repeat("x", 1025), "%",
	}
	seen := make(map[string]string)
	for _, text := range texts {
		value := *dimension("Key", text).Value
		if strings.TrimSpace(value) == "" || len(value) > 1024 || value[0] == ':' || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%.20q has the dimension value %q, which is invalid", text, value)
		}
		if other, ok := seen[value]; ok {
			t.Errorf("%.20q and %.20q have the same dimension value %q", text, other, value)
		}
		seen[value] = text
	}
	for value, text := range map[string]string{
		"C#page/home": "C#page/home", "a b": "a b", "a:b": "a:b", "100%25": "100%", "100%2525": "100%25", "%": "", "%25": "%", "%20": " ", "%20 ": "  ", "%3Ax": ":x", "%C3%A9": "é", "%7F": "\x7f", "tab%09": "tab\t", strings.Repeat("x", 1024): strings.Repeat("x", 1024),
	} {
		if got, ok := seen[value]; !ok || got != text {
			t.Errorf("the dimension value %q is of %q, want it to be of %q", value, got, text)
		}
	}
}
