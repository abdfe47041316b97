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
	source  count.Source // of the batch
	foreign string       // the table's name, if its keys are not hotshard's
	now     func() time.Time
	data    []metrics.Datum
	blind   bool // the shard map could not be read
}

// events counts events of the function itself.
func (j *journal) events(name string, n int) {
	j.datum(name, float64(n), metrics.Count, j.now())
}

func (j *journal) datum(name string, value float64, unit metrics.Unit, at time.Time, more ...metrics.Dimension) {
	dimensions := append([]metrics.Dimension{{Name: "TableName", Value: j.source.Table}}, more...)
	j.data = append(j.data, metrics.Datum{Name: name, Value: value, Unit: unit, Time: at, Dimensions: dimensions})
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

// ageEvery is how often ages are sent if nothing else is: CloudWatch bills each call.
const ageEvery = time.Minute

// ages holds the greatest ages of the batches' oldest and newest records since they were last sent. Ages that are not
// sent before the process ends are lost.
type ages struct {
	mu     sync.Mutex
	tables map[string]age
}

// age holds the ages of one table.
type age struct {
	sent           time.Time
	some           bool
	oldest, newest time.Duration
}

func (a *ages) observe(table string, c *counts, now time.Time) {
	if c.newest.IsZero() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.tables[table]
	a.tables[table] = age{of.sent, true, max(of.oldest, now.Sub(c.oldest)), max(of.newest, now.Sub(c.newest))}
}

// addTo adds the ages to a journal that has metrics to send anyway, or if a minute has passed.
func (a *ages) addTo(j *journal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, of := j.now(), a.tables[j.source.Table]
	if !of.some || len(j.data) == 0 && now.Sub(of.sent) < ageEvery {
		return
	}
	j.datum("OldestRecordAge", float64(of.oldest.Milliseconds()), metrics.Milliseconds, now)
	j.datum("NewestRecordAge", float64(of.newest.Milliseconds()), metrics.Milliseconds, now)
	a.tables[j.source.Table] = age{sent: now}
}

// sendTimeout bounds how long metrics may delay a batch.
const sendTimeout = 5 * time.Second

// send sends the metrics. It only logs an error: retrying the batch would count it twice.
func (j *journal) send(ctx context.Context, sink metrics.Sink, a *ages) {
	a.addTo(j)
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
