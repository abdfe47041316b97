package audit

import (
	"context"
	"slices"
)

// await waits for folds that may be in flight, and returns the sources that are still wrong.
//
// A fold that brings a summary to an awaited rev, or beyond, writes rev and value together. Such a
// source is right, as far as the two can be compared.
func (c *counters) await(ctx context.Context, name string, sources []source) (wrong []source, err error) {
	var left []source // a fold in flight may make these right
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
		if left, err = c.recheck(ctx, name, left); err != nil {
			return nil, err
		}
	}
	// The write shards may have been written since.
	if err := c.readItems(ctx, name, left); err != nil {
		return nil, err
	}
	return append(wrong, left...), nil
}

// recheck reads the summary's states of the sources again, and returns the sources that are still
// behind or wrong.
func (c *counters) recheck(ctx context.Context, name string, sources []source) ([]source, error) {
	partials, err := c.readPartials(ctx, name, sources)
	if err != nil {
		return nil, err
	}
	var left, removed []source
	for _, s := range sources {
		s.setSummary(name, partials)
		switch {
		case s.item == nil && s.fault == nil:
			removed = append(removed, s)
		case s.judge() == Ahead: // the fold arrived: the summary is past the item as it was read
		case s.judge() != "":
			left = append(left, s)
		}
	}
	// A removed write shard may exist again.
	if err := c.readItems(ctx, name, removed); err != nil {
		return nil, err
	}
	removed = slices.DeleteFunc(removed, func(s source) bool { return s.judge() == "" })
	return append(left, removed...), nil
}
