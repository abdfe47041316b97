package hotkeys

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// journal collects what one invocation reports. Log lines are written at once; metrics are sent when the invocation
// ends.
type journal struct {
	*slog.Logger
	source heat.CountedTable // of the batch
	now    func() time.Time
	data   []Datum
	logged *lastTexts // what the process logged once
}

// countEvents adds a metric with the number of events in the function itself, such as failures.
func (j *journal) countEvents(name string, n int) {
	j.addMetric(name, float64(n), unitCount, j.now())
}

// addMetric adds a metric of the source's table.
func (j *journal) addMetric(name string, value float64, unit types.StandardUnit, at time.Time, more ...types.Dimension) {
	j.data = append(j.data, tableMetric(j.source.Table, name, value, unit, at, more...))
}

// logCounts logs or measures dropped states, records that are unreadable or have no time, and early ends of windows.
func (j *journal) logCounts(ctx context.Context, c *counts) {
	if c.stateFault != nil {
		j.WarnContext(ctx, "window state dropped", "error", c.stateFault, "streamShard", c.batch.StreamShard())
		j.countEvents("WindowStatesDropped", 1)
	}
	if c.unreadable > 0 {
		j.ErrorContext(ctx, "records not counted", "records", c.unreadable, "error", c.firstFault)
		j.countEvents("RecordsUnreadable", c.unreadable)
	}
	if c.withoutTime > 0 && j.logged.changed("records without a time", j.source.Table) {
		j.WarnContext(ctx, "records without ApproximateCreationDateTime are counted at the time of the invocation, and their windows marked incomplete", "table", j.source.Table, "records", c.withoutTime)
	}
	if c.batch.TerminatedEarly {
		j.countEvents("WindowsTerminatedEarly", 1)
	}
}

// sendTimeout bounds how long metrics may delay a batch.
const sendTimeout = 5 * time.Second

// sendMetrics sends the metrics. It only logs an error, because a retried batch would be measured twice.
func (j *journal) sendMetrics(ctx context.Context, sink Sink) {
	if len(j.data) == 0 || sink == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := sink.Put(ctx, j.data); err != nil {
		j.WarnContext(ctx, "metrics not sent", "error", err)
	}
}

// maxTexts bounds the subjects of a lastTexts. With more, it forgets all of them.
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
