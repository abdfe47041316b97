package rebuild

import (
	"context"
	"slices"
)

// await waits for folds that may be in flight, and returns the sources that are still wrong.
//
// A source is right once its summary has the first state that was read of its item, or a newer one: the
// item may change all the time.
func (c *counters) await(ctx context.Context, name string, sources []source) (wrong []source, err error) {
	awaited := map[int]*state{}
	var left []source // a fold in flight may make these right
	for _, s := range sources {
		switch s.classify() {
		case "":
		case Stale, Removed:
			left = append(left, s)
			awaited[s.n] = s.item
		default:
			wrong = append(wrong, s)
		}
	}
	for deadline := c.o.Now().Add(c.o.Wait); len(left) > 0 && c.o.Now().Before(deadline); {
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
		partials, err := c.readPartials(ctx, name, left)
		if err == nil {
			err = c.readStates(ctx, name, left, partials)
		}
		if err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(s source) bool {
			if awaited[s.n] == nil {
				awaited[s.n] = s.item // nil while the write shard is gone
			}
			s.item = awaited[s.n]
			state := s.classify()
			return state == "" || state == Ahead
		})
	}
	return append(wrong, left...), nil
}
