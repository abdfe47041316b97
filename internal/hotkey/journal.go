package hotkey

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/heat/count"
	"github.com/hotshard/hotshard/internal/metrics"
)

// journal is what one invocation has to tell: log lines, which are written at once, and
// metrics, which are sent when it ends.
type journal struct {
	*slog.Logger
	source  count.Source // of the batch
	foreign string       // the table, where its keys are not to be taken for hotshard's
	now     func() time.Time
	data    []metrics.Datum
	blind   bool // shard counts could not be looked up
}

// events counts things that happened to the function itself.
func (j *journal) events(name string, n int) {
	j.datum(name, float64(n), metrics.Count, j.now())
}

func (j *journal) datum(name string, value float64, unit metrics.Unit, at time.Time, more ...metrics.Dimension) {
	dimensions := append([]metrics.Dimension{{Name: "TableName", Value: j.source.Table}}, more...)
	j.data = append(j.data, metrics.Datum{Name: name, Value: value, Unit: unit, Time: at, Dimensions: dimensions})
}

// counted tells what was not counted, or not as it should have been.
func (j *journal) counted(ctx context.Context, c *counts) {
	if c.dropped != nil {
		j.WarnContext(ctx, "window state dropped", "error", c.dropped, "streamShard", c.batch.ShardID)
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

// ageEvery is how long ages are gathered where no report takes them along: each call
// to CloudWatch is paid for.
const ageEvery = time.Minute

// ages are the greatest ages that batches' oldest and newest records had when they were
// handled, since they were last sent. What is not sent when the process ends is lost.
type ages struct {
	mu             sync.Mutex
	sent           time.Time
	some           bool
	oldest, newest time.Duration
}

func (a *ages) see(c *counts, now time.Time) {
	if c.newest.IsZero() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.some, a.oldest, a.newest = true, max(a.oldest, now.Sub(c.oldest)), max(a.newest, now.Sub(c.newest))
}

// tell puts the ages into a journal that has something to send anyway, or if it is time.
func (a *ages) tell(j *journal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := j.now()
	if !a.some || len(j.data) == 0 && now.Sub(a.sent) < ageEvery {
		return
	}
	j.datum("OldestRecordAge", float64(a.oldest.Milliseconds()), metrics.Milliseconds, now)
	j.datum("NewestRecordAge", float64(a.newest.Milliseconds()), metrics.Milliseconds, now)
	a.sent, a.some, a.oldest, a.newest = now, false, 0, 0
}

// sendTimeout bounds how long metrics may keep a batch waiting.
const sendTimeout = 5 * time.Second

// send is the last thing to do. It may fail: a batch must not be repeated for the
// sake of metrics, which would count twice then.
func (j *journal) send(ctx context.Context, sink metrics.Sink, a *ages) {
	a.tell(j)
	if len(j.data) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := sink.Put(ctx, j.data); err != nil {
		j.WarnContext(ctx, "metrics not sent", "error", err)
	}
}

// maxSaid bounds of how many keys a process remembers what it said.
const maxSaid = 10_000

// once remembers what was said of keys, so that nothing is said again and again.
type once struct {
	mu   sync.Mutex
	said map[string]string
}

// first tells whether this is another text than the last one about the subject.
func (o *once) first(subject, text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[subject] == text {
		return false
	}
	if o.said == nil || len(o.said) >= maxSaid {
		o.said = make(map[string]string)
	}
	o.said[subject] = text
	return true
}
