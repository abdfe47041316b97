package audit

import (
	"context"
	"slices"
)

// await waits for folds that may be on their way, and returns the sources that are
// not right after that.
//
// Where a rev was waited for, any fold that brought the summary to it or beyond
// wrote rev and value, so the source is right, as far as the two can be compared.
func (c *counters) await(ctx context.Context, name string, sources []source) ([]source, error) {
	wrong := slices.DeleteFunc(slices.Clone(sources), func(s source) bool { return s.judge() == "" })
	left := slices.DeleteFunc(slices.Clone(wrong), func(s source) bool { return !s.mayCome() })
	if len(left) == 0 {
		return wrong, nil
	}
	done := slices.DeleteFunc(wrong, source.mayCome)
	for deadline := c.o.Now().Add(c.o.Wait); len(left) > 0 && c.o.Now().Before(deadline); {
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
		var err error
		if left, err = c.lookAgain(ctx, name, left); err != nil {
			return nil, err
		}
	}
	// The write shards may have gone on since.
	if err := c.readItems(ctx, name, left); err != nil {
		return nil, err
	}
	return append(done, left...), nil
}

// mayCome tells whether a fold that is on its way may make a source right.
func (s source) mayCome() bool {
	state := s.judge()
	return state == Stale || state == Removed
}

// lookAgain reads what the summary has of the sources now, and returns those that
// must be waited for still, or are wrong.
func (c *counters) lookAgain(ctx context.Context, name string, sources []source) ([]source, error) {
	partials, err := c.readPartials(ctx, name, numbers(sources))
	if err != nil {
		return nil, err
	}
	var left, removed []source
	for _, s := range sources {
		s.takeSummary(name, partials)
		switch {
		case s.item == nil && s.fault == nil:
			removed = append(removed, s)
		case s.judge() == Ahead: // of the item as it was: it came and went on
		case s.judge() != "":
			left = append(left, s)
		}
	}
	// One that is removed may be made again.
	if err := c.readItems(ctx, name, removed); err != nil {
		return nil, err
	}
	removed = slices.DeleteFunc(removed, func(s source) bool { return s.judge() == "" })
	return append(left, removed...), nil
}

func numbers(sources []source) []int {
	list := make([]int, len(sources))
	for i, s := range sources {
		list[i] = s.n
	}
	return list
}
