package live

import (
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// Bounds of a history. It takes some 100 MB if all its windows have 256 keys of the table, and as much again if they have
// 256 keys of indexes.
const (
	historyKeys = 256 // keys that a window keeps besides its hot keys: of the table, and of all indexes together
	historyTime = 6 * time.Hour
)

// history has the complete windows of the last historyTime, in order of time, without gaps.
type history []heat.Window

// addWindow appends a window, which must follow the last window, and drops windows that are too old.
func (h *history) addWindow(window heat.Window) {
	*h = append(*h, heat.Window{Start: window.Start, Items: foldItems(window.Start, window.Items)})
	kept := slices.IndexFunc(*h, func(w heat.Window) bool { return window.Start.Sub(w.Start) < historyTime })
	*h = slices.Delete(*h, 0, kept)
}

// foldItems folds items into a window, and keeps its heaviest keys.
func foldItems(start time.Time, items []heat.Item) []heat.Item {
	items = heat.FoldAll(items, start, Window)
	for i := range items {
		items[i] = items[i].Heaviest(historyKeys)
	}
	return items
}

// addLate adds late items to a window. It drops items of windows that are no longer kept.
func (h history) addLate(start time.Time, items []heat.Item) {
	i := slices.IndexFunc(h, func(w heat.Window) bool { return w.Start.Equal(start) })
	if i < 0 {
		return
	}
	late := heat.FoldAll(items, start, Window)
	for j := range late {
		late[j].Coverage = h[i].Items[0].Coverage
	}
	h[i].Items = foldItems(start, slices.Concat(h[i].Items, late))
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
