package live

import (
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// history keeps complete windows for a week: the older, the coarser. Each time is in one tier. If each window has 1,000 keys
// or more, history takes some 30 MB after an hour, 90 MB after a day, and at most 130 MB after a week.
type history [len(tiers)][]heat.Window // each tier in order of time, without gaps

// tiers are the tiers of a history, from the newest windows to the oldest.
var tiers = [...]struct {
	length time.Duration // of a window
	keys   int           // number of keys that a window keeps
	keep   time.Duration // how long a window stays in the tier
}{
	{Window, 256, time.Hour},
	{time.Minute, 128, 24 * time.Hour},
	{10 * time.Minute, 128, 7 * 24 * time.Hour},
}

// addWindow appends a window, which must follow the last window, and moves windows that are too old to the next tier.
func (h *history) addWindow(window heat.Window) {
	h.add(0, window.Start, window.Items)
	for tier := range tiers {
		for h.isFirstSpanTooOld(tier, window.Start) {
			h.foldFirstSpan(tier)
		}
	}
}

// add appends a window with these items to a tier.
func (h *history) add(tier int, start time.Time, items []heat.Item) {
	h[tier] = append(h[tier], heat.Window{Start: start, Items: foldItems(tier, start, items)})
}

// foldItems folds items into a tier's window, and keeps the window's heaviest keys.
func foldItems(tier int, start time.Time, items []heat.Item) []heat.Item {
	items = heat.FoldAll(items, start, tiers[tier].length)
	for i := range items {
		items[i] = items[i].Heaviest(tiers[tier].keys)
	}
	return items
}

// isFirstSpanTooOld reports whether a tier's first span ended longer ago than the tier keeps windows.
func (h *history) isFirstSpanTooOld(tier int, now time.Time) bool {
	if len(h[tier]) == 0 {
		return false
	}
	_, end := h.firstSpan(tier)
	return end.Add(tiers[tier].keep).Before(now)
}

// firstSpan returns the time of the next tier's window that has the tier's first window; in the last tier, its own
// time.
func (h *history) firstSpan(tier int) (start, end time.Time) {
	length := tiers[min(tier+1, len(tiers)-1)].length
	start = h[tier][0].Start.Truncate(length)
	return start, start.Add(length)
}

// foldFirstSpan folds a tier's first span into the next tier. It drops the last tier's, and one whose start is missing.
func (h *history) foldFirstSpan(tier int) {
	start, end := h.firstSpan(tier)
	spanWindows := windowsBetween(h[tier], start, end)
	isWhole := spanWindows[0].Start.Sub(start) < tiers[tier].length
	if hasNext := tier+1 < len(tiers); hasNext && isWhole {
		var items []heat.Item
		for _, w := range spanWindows {
			items = append(items, w.Items...)
		}
		h.add(tier+1, start, items)
	}
	h[tier] = h[tier][len(spanWindows):]
}

// addLate adds late items to a window of the last hour. It drops items of older windows.
func (h *history) addLate(start time.Time, items []heat.Item) {
	i := slices.IndexFunc(h[0], func(w heat.Window) bool { return w.Start.Equal(start) })
	if i < 0 {
		return
	}
	window := &h[0][i]
	late := heat.FoldAll(items, start, Window)
	for i := range late {
		late[i].Coverage = window.Items[0].Coverage
	}
	window.Items = foldItems(0, start, slices.Concat(window.Items, late))
}

// windowsBetween returns the windows that start at from or later, and before to.
func windowsBetween(list []heat.Window, from, to time.Time) (found []heat.Window) {
	for _, w := range list {
		if !w.Start.Before(from) && w.Start.Before(to) {
			found = append(found, w)
		}
	}
	return found
}

// windows returns the windows of all tiers that start at from or later, and before to, in order of time.
func (h *history) windows(from, to time.Time) (list []heat.Window) {
	for i := len(tiers) - 1; i >= 0; i-- {
		list = append(list, windowsBetween(h[i], from, to)...)
	}
	return list
}
