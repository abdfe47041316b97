package detection

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/metrics"
)

// watch is told of writes and of metrics, and when.
type watch struct {
	mu     sync.Mutex
	writes map[string][]time.Time             // by key, as they were answered
	named  map[string]map[time.Time]time.Time // by key and window: when a metric first named it
}

func newWatch() *watch {
	return &watch{writes: make(map[string][]time.Time), named: make(map[string]map[time.Time]time.Time)}
}

func (w *watch) wrote(key string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes[key] = append(w.writes[key], at)
}

// Put implements metrics.Sink.
func (w *watch) Put(_ context.Context, data []metrics.Datum) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range data {
		if d.Name != "KeyWriteUnitsPerSecond" {
			continue
		}
		key := d.Dimensions[len(d.Dimensions)-1].Value
		if w.named[key] == nil {
			w.named[key] = make(map[time.Time]time.Time)
		}
		if _, before := w.named[key][d.Time]; !before {
			w.named[key][d.Time] = time.Now()
		}
	}
	return nil
}

// row sums up one key. A window counts if it was written to from end to end.
func (w *watch) row(batching time.Duration, multiple float64) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := keyOf(multiple)
	writes := w.writes[key]
	windows := 0
	var took []time.Duration
	last := writes[len(writes)-1]
	for start := writes[0].Truncate(window).Add(window); !start.Add(window).After(last); start = start.Add(window) {
		windows++
		if named, ok := w.named[key][start.UTC()]; ok {
			took = append(took, named.Sub(over(writes, start)))
		} else if multiple > 1 {
			log.Warn("window without the key's metric", "key", key, "window", start.UTC())
		}
	}
	row := fmt.Sprintf("| %v | %.2f | %d | %d |", batching, multiple, windows, len(took))
	if len(took) == 0 {
		return row + " - | - | - |"
	}
	slices.Sort(took)
	for _, d := range []time.Duration{took[0], took[len(took)/2], took[len(took)-1]} {
		row += fmt.Sprintf(" %d ms |", d.Milliseconds())
	}
	return row
}

// over returns when the write was answered that took a key over a window's budget:
// writes are of one unit each. The detector files a write under the second in which
// the stream was read, so that one made just before the window may count in it.
func over(writes []time.Time, start time.Time) time.Time {
	first, _ := slices.BinarySearchFunc(writes, start, time.Time.Compare)
	budget := int(hotRate * window.Seconds())
	return writes[min(first+budget, len(writes))-1]
}
