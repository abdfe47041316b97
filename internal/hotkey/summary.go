package hotkey

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
)

// summaries are what is known of the hours that are settled, by their begins.
type summaries map[time.Time]heat.Summary

// maxSummaries bounds the hours that one run of the task sums up.
const maxSummaries = 2

// summaries reads the summaries of the hours that lie in the quiet time of any key, and
// makes what is missing, the oldest first, from heat items that are all there still.
func (r *shrinker) summaries(ctx context.Context, j *journal, keys []candidate, now time.Time) (summaries, error) {
	to := r.settings.settled(now)
	from := to
	for _, c := range keys {
		if begin := r.settings.quietFrom(c.base, now).Truncate(time.Hour); begin.Before(from) {
			from = begin
		}
	}
	if first := keys[0].Effective().UTC().Truncate(time.Hour); first.After(from) {
		from = first // nothing is asked of the time before any key had its count
	}
	if !from.Before(to) {
		return nil, nil
	}
	found, err := r.readSummaries(ctx, j, from, to)
	if err != nil {
		return nil, err
	}
	made := 0
	for hour := from; hour.Before(to) && made < maxSummaries; hour = hour.Add(time.Hour) {
		if _, ok := found[hour]; ok || hour.Before(now.Add(time.Minute-r.settings.HeatRetention)) {
			continue
		}
		if found[hour], err = r.sumUp(ctx, j, keys, hour); err != nil {
			return nil, err
		}
		made++
	}
	return found, nil
}

// sumUp makes the summary of an hour: of the keys whose load was so low, all the time,
// that they might shrink.
func (r *shrinker) sumUp(ctx context.Context, j *journal, keys []candidate, hour time.Time) (heat.Summary, error) {
	all := newCalms(keys, func(candidate) time.Time { return hour })
	if err := all.read(ctx, j, r.heat, hour, hour.Add(time.Hour), hour); err != nil {
		return heat.Summary{}, err
	}
	s := heat.Summary{Hour: hour, Peaks: make(map[string]float64)}
	for _, c := range all {
		if r.settings.policy().low(c.Calm, c.Entry) && c.Doubt != unread { // an hour without a window had no records
			s.Peaks[c.Key] = c.Peak
		}
	}
	if err := r.heat.put(ctx, s.Attributes()); err != nil {
		return s, fmt.Errorf("hotkey: putting the summary of %s: %w", hour.Format(time.RFC3339), err)
	}
	return s, nil
}

// readSummaries leaves out what can't be read, so that it is made anew if it can be.
func (r *shrinker) readSummaries(ctx context.Context, j *journal, from, to time.Time) (summaries, error) {
	found := make(summaries)
	for item, err := range r.heat.items(ctx, heat.SummaryPartition, from, to) {
		if err != nil {
			return nil, fmt.Errorf("hotkey: reading summaries of hours: %w", err)
		}
		s, err := heat.ParseSummary(item)
		if err != nil {
			r.heat.unreadable(ctx, j, []error{err})
			continue
		}
		found[s.Hour] = s
	}
	return found, nil
}

// enter adds what the summaries of the hours up to a time say of a key.
func (s summaries) enter(c *Calm, to time.Time) {
	for hour := c.From.Truncate(time.Hour); hour.Before(to); hour = hour.Add(time.Hour) {
		peak, low := s[hour].Peaks[c.Base.String()]
		if !low && c.Doubt == "" {
			c.Doubt = unsummed
		}
		c.Peak = max(c.Peak, peak)
	}
}
