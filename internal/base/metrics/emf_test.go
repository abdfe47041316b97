package metrics_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/metrics"
)

// TestEMFLine pins the form of lines, which CloudWatch's embedded metric format specifies.
func TestEMFLine(t *testing.T) {
	var out bytes.Buffer
	key := []metrics.Dimension{{Name: "TableName", Value: "items"}, {Name: "Key", Value: "C#é"}}
	list := data(3, "items")
	list = append(list[:2], metrics.Datum{Name: "HotKeys", Value: 1, Unit: metrics.Count, Time: at, Dimensions: list[0].Dimensions},
		metrics.Datum{Name: "KeyWriteUnitsPerSecond", Value: 712.5, Unit: metrics.CountPerSecond, Time: at, Dimensions: key})
	if err := metrics.NewEMF(&out).Put(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	want := `{"HotKeys":1,"Records":[0,1],"TableName":"items","_aws":{"Timestamp":1767618000000,"CloudWatchMetrics":[{"Namespace":"Hotshard","Dimensions":[["TableName"]],"Metrics":[{"Name":"Records","Unit":"Count"},{"Name":"HotKeys","Unit":"Count"}]}]}}
{"Key":"C#%C3%A9","KeyWriteUnitsPerSecond":712.5,"TableName":"items","_aws":{"Timestamp":1767618000000,"CloudWatchMetrics":[{"Namespace":"Hotshard","Dimensions":[["TableName","Key"]],"Metrics":[{"Name":"KeyWriteUnitsPerSecond","Unit":"Count/Second"}]}]}}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestEMFLimits checks that a line has at most 100 metrics of 100 values each, and that all values are written.
func TestEMFLimits(t *testing.T) {
	var list []metrics.Datum
	for i := range 250 {
		d := data(1, "t")[0]
		d.Name = fmt.Sprint("Metric", i)
		list = append(list, d)
	}
	list = append(list, data(230, "t")...)
	late := data(1, "t")[0]
	late.Time = at.Add(time.Second)
	other := late
	other.Unit = metrics.Milliseconds
	list = append(list, late, other)
	var out bytes.Buffer
	if err := metrics.NewEMF(&out).Put(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	values := 0
	for text := range strings.Lines(out.String()) {
		var line struct {
			AWS struct {
				CloudWatchMetrics []struct{ Metrics []struct{ Name string } }
			} `json:"_aws"`
		}
		var fields map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal([]byte(text), &line), json.Unmarshal([]byte(text), &fields)); err != nil {
			t.Fatal(err)
		}
		named := line.AWS.CloudWatchMetrics[0].Metrics
		if len(named) > 100 {
			t.Errorf("a line with %d metrics, want at most 100", len(named))
		}
		for _, m := range named {
			n := 1 + strings.Count(string(fields[m.Name]), ",")
			if values += n; n > 100 {
				t.Errorf("%s has %d values, want at most 100", m.Name, n)
			}
		}
	}
	if values != 482 {
		t.Errorf("%d values, want 482", values)
	}
}

// brokenWriter fails every write.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no log today") }

// TestEMFErrors checks that a value out of range is an error and does not prevent the other metrics, and that a failed
// write is an error.
func TestEMFErrors(t *testing.T) {
	var out bytes.Buffer
	list := data(2, "t")
	list[0].Value = math.NaN()
	err := metrics.NewEMF(&out).Put(t.Context(), list)
	if err == nil || !strings.Contains(err.Error(), "out of range") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("NaN: error %v, want one line and not %q", err, out.String())
	}
	if err := metrics.NewEMF(brokenWriter{}).Put(t.Context(), data(1, "t")); err == nil || !strings.Contains(err.Error(), "Records") {
		t.Errorf("failed write: error %v, want one that names Records", err)
	}
}
