package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// EMF writes data as lines of CloudWatch's embedded metric format, which CloudWatch Logs
// converts to metrics:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
// In Lambda the writer is standard output. Nothing can be throttled. A line that CloudWatch Logs ingests twice counts
// twice.
type EMF struct {
	mu  sync.Mutex
	out io.Writer
}

// NewEMF returns a sink that writes lines to out.
func NewEMF(out io.Writer) *EMF { return &EMF{out: out} }

// Limits of a line, from the format's specification.
const (
	maxLineMetrics = 100
	maxLineValues  = 100 // of one metric
)

// Put writes a line for each time and set of dimensions, or several if the limits require it. It leaves out a datum
// that CloudWatch would reject, and returns an error that names the metric.
func (e *EMF) Put(_ context.Context, data []Datum) error {
	var errs []error
	var lines []*line
	for i := range data {
		if err := data[i].check(); err != nil {
			errs = append(errs, err)
			continue
		}
		at := slices.IndexFunc(lines, func(l *line) bool { return l.fits(&data[i]) })
		if at < 0 {
			at, lines = len(lines), append(lines, newLine(&data[i]))
		}
		lines[at].addDatum(&data[i])
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range lines {
		errs = append(errs, l.write(e.out))
	}
	return errors.Join(errs...)
}

// line is one line of output.
type line struct {
	time       time.Time
	dimensions []Dimension
	units      map[string]Unit
	names      []string // in order of arrival
	values     map[string][]float64
}

func newLine(d *Datum) *line {
	return &line{time: d.Time, dimensions: d.Dimensions, units: make(map[string]Unit), values: make(map[string][]float64)}
}

// fits reports whether a datum can be added to the line.
func (l *line) fits(d *Datum) bool {
	unit, has := l.units[d.Name]
	return l.time.Equal(d.Time) && slices.Equal(l.dimensions, d.Dimensions) &&
		(!has && len(l.names) < maxLineMetrics || has && unit == d.Unit && len(l.values[d.Name]) < maxLineValues)
}

func (l *line) addDatum(d *Datum) {
	if _, has := l.units[d.Name]; !has {
		l.units[d.Name] = d.Unit
		l.names = append(l.names, d.Name)
	}
	l.values[d.Name] = append(l.values[d.Name], d.Value)
}

// The format's metadata.
type (
	metadata struct {
		Timestamp         int64 // Unix milliseconds
		CloudWatchMetrics []directive
	}
	directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	definition struct {
		Name string
		Unit Unit
	}
)

func (l *line) write(out io.Writer) error {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{}}}
	fields := make(map[string]any)
	for _, dim := range l.dimensions {
		d.Dimensions[0] = append(d.Dimensions[0], dim.Name)
		fields[dim.Name] = dimensionValue(dim.Value)
	}
	for _, name := range l.names {
		d.Metrics = append(d.Metrics, definition{name, l.units[name]})
		if values := l.values[name]; len(values) == 1 {
			fields[name] = values[0]
		} else {
			fields[name] = values
		}
	}
	fields["_aws"] = metadata{l.time.UnixMilli(), []directive{d}}
	text, err := json.Marshal(fields)
	if err == nil {
		_, err = out.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("metrics: writing %d metrics, the first of %s: %w", len(l.names), l.names[0], err)
	}
	return nil
}
