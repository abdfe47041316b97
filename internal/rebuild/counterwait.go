package rebuild

import (
	"context"
	"slices"
)

// awaitFolds waits up to Options.Wait for folds in flight, and returns the sources that are still wrong.
//
// A source is right once its summary has the first state that was read of its item, or a newer state: the
// item may change all the time.
func (c *counters) awaitFolds(ctx context.Context, name string, sources []source) (wrong []source, err error) {
	awaited := map[int]*state{}
	var pending []source // a fold in flight may make these right
	for _, s := range sources {
		switch s.classify() {
		case "":
		case Stale, Removed:
			pending = append(pending, s)
			awaited[s.n] = s.item
		default:
			wrong = append(wrong, s)
		}
	}
	for deadline := c.o.Now().Add(c.o.Wait); len(pending) > 0 && c.o.Now().Before(deadline); {
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
		partials, err := c.readPartials(ctx, name, pending)
		if err == nil {
			err = c.readStates(ctx, name, pending, partials)
		}
		if err != nil {
			return nil, err
		}
		pending = slices.DeleteFunc(pending, func(s source) bool {
			if awaited[s.n] == nil {
				awaited[s.n] = s.item // nil while the write shard is gone
			}
			s.item = awaited[s.n]
			state := s.classify()
			return state == "" || state == Ahead
		})
	}
	return append(wrong, pending...), nil
}
