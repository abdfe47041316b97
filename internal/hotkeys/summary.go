package hotkeys

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// summaries holds the summaries of settled hours, by their start.
type summaries map[time.Time]heat.Summary

// maxSummaries bounds the hours that one run of the task summarizes.
const maxSummaries = 2

// summaries returns the summaries of the settled hours in the quiet period of any key. It makes up to maxSummaries
// missing ones, oldest first, if all heat items of the hour are still stored. Keys are sorted by their last change.
func (r *shrinker) summaries(ctx context.Context, j *journal, keys []candidate, now time.Time) (summaries, error) {
	to := r.settings.settled(now)
	from := to
	for _, c := range keys {
		if begin := r.settings.quietFrom(c.base, now).Truncate(time.Hour); begin.Before(from) {
			from = begin
		}
	}
	if first := keys[0].Effective().UTC().Truncate(time.Hour); first.After(from) {
		from = first // every key changed later, so no earlier hour matters
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
		if found[hour], err = r.summarizeHour(ctx, j, keys, hour); err != nil {
			return nil, err
		}
		made++
	}
	return found, nil
}

// summarizeHour makes and stores the summary of an hour. The summary lists the keys whose load was low enough to shrink
// in each of its windows.
func (r *shrinker) summarizeHour(ctx context.Context, j *journal, keys []candidate, hour time.Time) (heat.Summary, error) {
	all := newPastLoads(keys, func(candidate) time.Time { return hour })
	if err := all.read(ctx, j, r.heat, hour, hour.Add(time.Hour), hour); err != nil {
		return heat.Summary{}, err
	}
	s := heat.Summary{Hour: hour, Peaks: make(map[string]float64)}
	for _, c := range all {
		if r.settings.policy().low(c.PastLoad, c.Entry) && c.Doubt != unread { // an hour without a window had no records
			s.Peaks[c.Key] = c.Peak
		}
	}
	if err := r.heat.put(ctx, s.Attributes()); err != nil {
		return s, fmt.Errorf("hotkeys: putting the summary of %s: %w", hour.Format(time.RFC3339), err)
	}
	return s, nil
}

// readSummaries returns the stored summaries. It skips unreadable ones, so that they are made again if possible.
func (r *shrinker) readSummaries(ctx context.Context, j *journal, from, to time.Time) (summaries, error) {
	found := make(summaries)
	for item, err := range r.heat.items(ctx, heat.SummaryPartition, from, to) {
		if err != nil {
			return nil, fmt.Errorf("hotkeys: reading summaries of hours: %w", err)
		}
		s, err := heat.ParseSummary(item)
		if err != nil {
			r.heat.logUnreadable(ctx, j, []error{err})
			continue
		}
		found[s.Hour] = s
	}
	return found, nil
}

// addToLoad raises a key's peak by the summaries of the hours from c.From up to to. An hour that does not list the key
// leaves a doubt.
func (s summaries) addToLoad(c *PastLoad, to time.Time) {
	for hour := c.From.Truncate(time.Hour); hour.Before(to); hour = hour.Add(time.Hour) {
		peak, low := s[hour].Peaks[c.Base.String()]
		if !low && c.Doubt == "" {
			c.Doubt = unsummed
		}
		c.Peak = max(c.Peak, peak)
	}
}
