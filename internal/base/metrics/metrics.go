// Package metrics sends metrics to CloudWatch or to memory. Code that measures depends on [Sink]:
//
//	var sink metrics.Sink = metrics.NewMemory(1000)
//	err := sink.Put(ctx, []metrics.Datum{{
//		Name: "HotKeys", Value: 2, Unit: metrics.Count, Time: windowStart,
//		Dimensions: []metrics.Dimension{{Name: "TableName", Value: "hotshard-items"}},
//	}})
package metrics

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
	Count          Unit = "Count"
	CountPerSecond Unit = "Count/Second"
	Milliseconds   Unit = "Milliseconds"
)

// Dimension is a name and a value that identify a metric.
type Dimension struct{ Name, Value string }

// Datum is one value of one metric. The name and the dimensions identify the metric.
type Datum struct {
	Name       string
	Value      float64
	Unit       Unit
	Dimensions []Dimension // at most 30 at CloudWatch
	Time       time.Time
}

// Sink sends data. After an error some or all of them may be lost. Callers must not send them again, because a value
// that is sent twice counts twice.
type Sink interface {
	Put(ctx context.Context, data []Datum) error
}

// Memory is a Sink that keeps the newest data in memory. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	limit int
	data  []Datum
}

// NewMemory returns a sink that keeps the newest data, at most limit.
func NewMemory(limit int) *Memory { return &Memory{limit: max(limit, 0)} }

// Put never returns an error.
func (m *Memory) Put(_ context.Context, data []Datum) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = append(m.data, data...)
	if over := len(m.data) - m.limit; over > 0 {
		m.data = slices.Delete(m.data, 0, over)
	}
	return nil
}

// Data returns the data in memory, oldest first.
func (m *Memory) Data() []Datum {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.data)
}
