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
func (c *counters) await(ctx context.Context, name string, sources []source) (wrong []source, err error) {
	var left []source // those that a fold on its way may make right
	for _, s := range sources {
		switch s.judge() {
		case "":
		case Stale, Removed:
			left = append(left, s)
		default:
			wrong = append(wrong, s)
		}
	}
	for deadline := c.o.Now().Add(c.o.Wait); len(left) > 0 && c.o.Now().Before(deadline); {
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
		if left, err = c.lookAgain(ctx, name, left); err != nil {
			return nil, err
		}
	}
	// The write shards may have gone on since.
	if err := c.readItems(ctx, name, left); err != nil {
		return nil, err
	}
	return append(wrong, left...), nil
}

// lookAgain reads what the summary has of the sources now, and returns those that
// must be waited for still, or are wrong.
func (c *counters) lookAgain(ctx context.Context, name string, sources []source) ([]source, error) {
	partials, err := c.readPartials(ctx, name, sources)
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
