package hotkeys

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Namespace is the namespace of all of hotshard's metrics.
const Namespace = "Hotshard"

// Unit is a metric's unit, in CloudWatch's spelling.
type Unit string

// Units in use.
const (
	UnitCount          Unit = "Count"
	UnitCountPerSecond Unit = "Count/Second"
	UnitMilliseconds   Unit = "Milliseconds"
)

// Dimension is a name and a value that identify a metric.
type Dimension struct{ Name, Value string }

// Datum is one value of one metric. The name and the dimensions identify the metric.
type Datum struct {
	Name       string
	Value      float64
	Unit       Unit
	Dimensions []Dimension // datumTime most 30 at CloudWatch
	Time       time.Time
}

// Sink sends data. After an error some or all of them may be lost. Callers must not send them again, because a value
// that is sent twice counts twice.
type Sink interface {
	Put(ctx context.Context, data []Datum) error
}

// MemorySink is a Sink that keeps the newest data in memory. It is safe for concurrent use.
type MemorySink struct {
	mu    sync.Mutex
	limit int
	data  []Datum
}

// NewMemorySink returns a sink that keeps the newest data, at most limit.
func NewMemorySink(limit int) *MemorySink { return &MemorySink{limit: max(limit, 0)} }

// Put never returns an error.
func (m *MemorySink) Put(_ context.Context, data []Datum) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = append(m.data, data...)
	if over := len(m.data) - m.limit; over > 0 {
		m.data = slices.Delete(m.data, 0, over)
	}
	return nil
}

// Data returns the data in memory, oldest first.
func (m *MemorySink) Data() []Datum {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.data)
}
