package live

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
)

// history keeps the windows that are over.
type history struct {
	windows []heat.Window
}

func (h *history) add(w heat.Window) { h.windows = append(h.windows, w) }

// amend adds to a window what came late.
func (h *history) amend(start time.Time, items []heat.Item) {
	for i := len(h.windows) - 1; i >= 0; i-- {
		if w := &h.windows[i]; w.Start.Equal(start) {
			w.Items = append(slices.Clip(w.Items), items...)
			return
		}
	}
}

// Windows implements [heat.Source].
func (r *Reader) Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		running := r.running()
		r.mu.Lock()
		list := slices.Clone(r.history.windows)
		r.mu.Unlock()
		for _, w := range append(list, running...) {
			if w.Start.Before(from) || !w.Start.Before(to) {
				continue
			}
			if !yield(w, nil) {
				return
			}
		}
	}
}
