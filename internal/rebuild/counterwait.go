package rebuild

import (
	"context"
	"slices"
)

// awaitFolds waits up to Options.Wait for folds in flight, and returns the sources that are still wrong. A source is
// right if its summary has the first state that was read of its item, or a newer state: the item may change all the time.
func (c *counters) awaitFolds(ctx context.Context, name string, sources []source) (wrong []source, err error) {
	firstRead := map[int]*state{} // the first state of each pending source's item
	var pending []source          // a fold in flight may make these right
	for _, s := range sources {
		switch s.classify() {
		case "":
		case Stale, Removed:
			pending = append(pending, s)
			firstRead[s.n] = s.item
		default:
			wrong = append(wrong, s)
		}
	}
	deadline := c.o.Now().Add(c.o.Wait)
	for len(pending) > 0 && c.o.Now().Before(deadline) {
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
		for _, s := range pending {
			if firstRead[s.n] == nil { // the write shard was gone before
				firstRead[s.n] = s.item
			}
		}
		pending = slices.DeleteFunc(pending, func(s source) bool {
			s.item = firstRead[s.n]
			state := s.classify()
			return state == "" || state == Ahead
		})
	}
	return append(wrong, pending...), nil
}
