package live

import (
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// history keeps complete windows, older windows in coarser tiers. Each time is in one tier. With 1,000 keys in each window
// or more, it takes some 30 MB after an hour, 90 MB after a day, and at most 130 MB after a week.
type history [len(tiers)][]heat.Window // each in order of time, without gaps

// tiers have the length of their windows, the number of keys that a window keeps, and how long the tier keeps windows.
var tiers = [...]struct {
	length time.Duration
	keys   int
	keep   time.Duration
}{
	{Window, 256, time.Hour},
	{time.Minute, 128, 24 * time.Hour},
	{10 * time.Minute, 128, 7 * 24 * time.Hour},
}

// addWindow appends a window, which must follow the last window, and moves windows that are too old to the next tier.
func (h *history) addWindow(w heat.Window) {
	h.add(0, w.Start, w.Items)
	for i := range tiers {
		for h.isFirstSpanTooOld(i, w.Start) {
			h.foldFirstSpan(i)
		}
	}
}

func (h *history) add(tier int, start time.Time, items []heat.Item) {
	h[tier] = append(h[tier], heat.Window{Start: start, Items: foldItems(tier, start, items)})
}

func foldItems(tier int, start time.Time, items []heat.Item) []heat.Item {
	items = heat.FoldAll(items, start, tiers[tier].length)
	for i := range items {
		items[i] = items[i].Heaviest(tiers[tier].keys)
	}
	return items
}

// isFirstSpanTooOld reports whether the first window of the next tier's length in a tier ended longer ago than the tier keeps.
func (h *history) isFirstSpanTooOld(tier int, now time.Time) bool {
	if len(h[tier]) == 0 {
		return false
	}
	_, end := h.firstSpan(tier)
	return end.Add(tiers[tier].keep).Before(now)
}

// firstSpan returns the time of the next tier's window in which a tier begins.
func (h *history) firstSpan(tier int) (start, end time.Time) {
	length := tiers[min(tier+1, len(tiers)-1)].length
	start = h[tier][0].Start.Truncate(length)
	return start, start.Add(length)
}

// foldFirstSpan moves a tier's first windows into one window of the next tier. It drops the windows instead in the last
// tier, and if reading began within the span.
func (h *history) foldFirstSpan(tier int) {
	start, end := h.firstSpan(tier)
	list := between(h[tier], start, end)
	if tier+1 < len(tiers) && list[0].Start.Sub(start) < tiers[tier].length {
		var items []heat.Item
		for _, w := range list {
			items = append(items, w.Items...)
		}
		h.add(tier+1, start, items)
	}
	h[tier] = h[tier][len(list):]
}

// addLate adds late items to a window of the last hour.
func (h *history) addLate(start time.Time, items []heat.Item) {
	at := slices.IndexFunc(h[0], func(w heat.Window) bool { return w.Start.Equal(start) })
	if at < 0 {
		return
	}
	w := &h[0][at]
	late := heat.FoldAll(items, start, Window)
	for i := range late {
		late[i].Coverage = w.Items[0].Coverage
	}
	w.Items = foldItems(0, start, slices.Concat(w.Items, late))
}

// between returns the windows that start at from or later and before to.
func between(list []heat.Window, from, to time.Time) (found []heat.Window) {
	for _, w := range list {
		if !w.Start.Before(from) && w.Start.Before(to) {
			found = append(found, w)
		}
	}
	return found
}

// windows returns the windows from from to to, of all tiers, in order.
func (h *history) windows(from, to time.Time) (list []heat.Window) {
	for i := len(tiers) - 1; i >= 0; i-- {
		list = append(list, between(h[i], from, to)...)
	}
	return list
}
