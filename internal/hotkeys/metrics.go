package hotkeys

import (
	"context"
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
)

// Dimension is a name and a value that identify a metric.
type Dimension struct{ Name, Value string }

// Datum is one value of one metric. The name and the dimensions identify the metric.
type Datum struct {
	Name       string
	Value      float64
	Unit       Unit
	Dimensions []Dimension // at most 30
	Time       time.Time
}

// Sink sends data. After an error some or all of them may be lost. Callers must not send them again, because a value
// that is sent twice counts twice.
type Sink interface {
	Put(ctx context.Context, data []Datum) error
}
