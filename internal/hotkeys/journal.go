package hotkeys

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/base/metrics"
)

// journal collects what one invocation reports. Log lines are written at once; metrics are sent when the invocation
// ends.
type journal struct {
	*slog.Logger
	source count.Source // of the batch
	now    func() time.Time
	data   []metrics.Datum
	blind  bool // the shard map could not be read
}

// events counts events of the function itself.
func (j *journal) events(name string, n int) {
	j.datum(name, float64(n), metrics.Count, j.now())
}

func (j *journal) datum(name string, value float64, unit metrics.Unit, at time.Time, more ...metrics.Dimension) {
	j.data = append(j.data, datum(j.source.Table, name, value, unit, at, more...))
}

// datum returns a metric of a table.
func datum(table, name string, value float64, unit metrics.Unit, at time.Time, more ...metrics.Dimension) metrics.Datum {
	dimensions := append([]metrics.Dimension{{Name: "TableName", Value: table}}, more...)
	return metrics.Datum{Name: name, Value: value, Unit: unit, Time: at, Dimensions: dimensions}
}

// logCounts reports records and states that were not counted.
func (j *journal) logCounts(ctx context.Context, c *counts) {
	if c.dropped != nil {
		j.WarnContext(ctx, "window state dropped", "error", c.dropped, "streamShard", c.batch.StreamShard())
		j.events("WindowStatesDropped", 1)
	}
	if c.unreadable > 0 {
		j.ErrorContext(ctx, "records not counted", "records", c.unreadable, "error", c.unread)
		j.events("RecordsUnreadable", c.unreadable)
	}
	if c.batch.TerminatedEarly {
		j.events("WindowsTerminatedEarly", 1)
	}
}

// sendTimeout bounds how long metrics may delay a batch.
const sendTimeout = 5 * time.Second

// send sends the metrics. It only logs an error: retrying the batch would count it twice.
func (j *journal) send(ctx context.Context, sink metrics.Sink) {
	if len(j.data) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := sink.Put(ctx, j.data); err != nil {
		j.WarnContext(ctx, "metrics not sent", "error", err)
	}
}

// maxTexts bounds the cached texts of a process.
const maxTexts = 10_000

// lastTexts caches the last text that was logged for each subject, so that it is not logged again.
type lastTexts struct {
	mu    sync.Mutex
	texts map[string]string
}

// changed reports whether the text differs from the last one for the subject, and caches it.
func (o *lastTexts) changed(subject, text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.texts[subject] == text {
		return false
	}
	if o.texts == nil || len(o.texts) >= maxTexts {
		o.texts = make(map[string]string)
	}
	o.texts[subject] = text
	return true
}
