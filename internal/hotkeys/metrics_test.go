package hotkeys_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/hotkeys"
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

var at = time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)

// data returns n values of Records for a table.
func data(n int, dimension string) []hotkeys.Datum {
	list := make([]hotkeys.Datum, n)
	for i := range list {
		list[i] = hotkeys.Datum{
			Name: "Records", Value: float64(i), Unit: hotkeys.UnitCount, Time: at,
			Dimensions: []hotkeys.Dimension{{Name: "TableName", Value: dimension}},
		}
	}
	return list
}

// TestCloudWatchDatum checks the namespace, the names, the value, the unit and the time of a datum.
func TestCloudWatchDatum(t *testing.T) {
	fake := new(fakeCloudWatch)
	err := hotkeys.NewCloudWatch(fake).Put(t.Context(), []hotkeys.Datum{{
		Name: "MaxKeyWriteUnitsPerSecond", Value: 712.5, Unit: hotkeys.UnitCountPerSecond, Time: at,
		Dimensions: []hotkeys.Dimension{{"TableName", "items"}, {"Key", "C#a"}},
	}})
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
	got := fmt.Sprint(*d.MetricName, *d.Value, d.Unit, d.Timestamp.Equal(at), dims)
	if want := fmt.Sprint("MaxKeyWriteUnitsPerSecond", 712.5, types.StandardUnitCountSecond, true, []string{"TableName=items", "Key=C#a"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCloudWatchBatches checks that calls stay within PutMetricData's limits of 1,000 data and 1 MB.
func TestCloudWatchBatches(t *testing.T) {
	for _, c := range []struct {
		data []hotkeys.Datum
		want []int // data of each call
	}{
		{nil, nil},
		{data(1000, "t"), []int{1000}},
		{data(2001, "t"), []int{1000, 1000, 1}},
		{data(600, strings.Repeat("x", 1000)), []int{285, 285, 30}}, // 3,498 bytes each at most
		{data(301, strings.Repeat("x", 945)), []int{300, 1}},        // 3,333
	} {
		fake := new(fakeCloudWatch)
		if err := hotkeys.NewCloudWatch(fake).Put(t.Context(), c.data); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, fake.sizes()); diff != "" {
			t.Errorf("%d data: calls (-want +got):\n%s", len(c.data), diff)
		}
	}
}

// TestCloudWatchErrors checks that invalid data and a failed call are errors, and that all other data is sent.
func TestCloudWatchErrors(t *testing.T) {
	lost := errors.New("lost")
	fake := &fakeCloudWatch{fail: map[int]error{0: lost}}
	list := data(1500, "t")
	list[3].Value, list[4].Value = math.NaN(), math.Inf(1)
	list[5].Dimensions = make([]hotkeys.Dimension, 31)
	err := hotkeys.NewCloudWatch(fake).Put(t.Context(), list)
	if !errors.Is(err, lost) || strings.Count(err.Error(), "out of range") != 2 || !strings.Contains(err.Error(), "31 dimensions") {
		t.Errorf("error %v, want %v, two values out of range and 31 dimensions", err, lost)
	}
	if diff := cmp.Diff([]int{1000, 497}, fake.sizes()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestLimitsOfData checks the largest values and the most dimensions that CloudWatch takes.
func TestLimitsOfData(t *testing.T) {
	for _, c := range []struct {
		value      float64
		dimensions int
		sent       int
	}{
		{math.Exp2(360), 0, 1}, {-math.Exp2(360), 0, 1}, {math.Nextafter(math.Exp2(360), math.Inf(1)), 0, 0}, {math.Inf(-1), 0, 0}, {math.NaN(), 0, 0}, {1, 30, 1}, {1, 31, 0},
	} {
		fake := new(fakeCloudWatch)
		err := hotkeys.NewCloudWatch(fake).Put(t.Context(), []hotkeys.Datum{{Name: "n", Value: c.value, Dimensions: make([]hotkeys.Dimension, c.dimensions)}})
		if len(fake.calls) != c.sent || (err == nil) != (c.sent == 1) {
			t.Errorf("%+v: %d calls, %v", c, len(fake.calls), err)
		}
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
		fake := new(fakeCloudWatch)
		if err := hotkeys.NewCloudWatch(fake).Put(t.Context(), data(1, text)); err != nil {
			t.Fatal(err)
		}
		value := *fake.calls[0].MetricData[0].Dimensions[0].Value
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

// TestMemory checks that concurrent puts keep the newest data, up to the bound.
func TestMemory(t *testing.T) {
	m := hotkeys.NewMemorySink(5)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { m.Put(t.Context(), data(3, "other")) })
	}
	group.Wait()
	if n := len(m.Data()); n != 5 {
		t.Errorf("%d data kept, want 5", n)
	}
	for bound, want := range map[int]int{-1: 0, 0: 0, 7: 7, 8: 7} {
		m := hotkeys.NewMemorySink(bound)
		m.Put(t.Context(), data(7, "t"))
		if n := len(m.Data()); n != want {
			t.Errorf("%d data kept of 7, at most %d", n, bound)
		}
	}
	m.Put(t.Context(), data(7, "t"))
	if diff := cmp.Diff(data(7, "t")[2:], m.Data()); diff != "" {
		t.Errorf("data kept (-want +got):\n%s", diff)
	}
}
