package live

import (
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// history keeps complete windows in layers: older windows in coarser ones. With 1,000 keys a window or
// more it takes some 30 MB after an hour, 60 MB more after a day, 40 MB more after a week, and no more
// after that.
type history struct {
	layers [len(kept)][]heat.Window // each in order of time, without gaps
}

// kept has the layers, with the time and the number of keys that each keeps.
var kept = [...]struct {
	length time.Duration
	keys   int
	keep   time.Duration
}{
	{Window, 256, time.Hour},
	{time.Minute, 128, 24 * time.Hour},
	{10 * time.Minute, 128, 7 * 24 * time.Hour},
}

// addWindow appends a window, which must follow the last one.
func (h *history) addWindow(w heat.Window) {
	end := w.Start.Add(Window)
	h.foldIntoLayer(0, w.Start, w.Items)
	for i := 1; i < len(kept) && end.Equal(end.Truncate(kept[i].length)); i++ {
		start := end.Add(-kept[i].length)
		if finer := h.layers[i-1]; finer[0].Start.After(start) {
			break // reading began within it
		}
		h.foldIntoLayer(i, start, itemsOf(between(h.layers[i-1], start, end)))
	}
}

// foldIntoLayer folds a time's items into a layer, and drops windows that are too old.
func (h *history) foldIntoLayer(layer int, start time.Time, items []heat.Item) {
	l := append(h.layers[layer], heat.Window{Start: start, Items: fold(layer, start, items)})
	for l[0].Start.Add(kept[layer].keep).Before(start) {
		l = l[1:]
	}
	h.layers[layer] = l
}

func fold(layer int, start time.Time, items []heat.Item) []heat.Item {
	folded := heat.FoldAll(items, start, kept[layer].length)
	for i := range folded {
		folded[i] = folded[i].Heaviest(kept[layer].keys)
	}
	return folded
}

// amend adds late items to a window, and to the coarser windows that contain it.
func (h *history) amend(start time.Time, items []heat.Item) {
	late := heat.FoldAll(items, start, Window)
	for i := range h.layers {
		w := h.windowAt(i, start)
		if w == nil {
			continue
		}
		if i > 0 && !h.layers[i-1][0].Start.After(w.Start) { // the finer layer still has the time's items
			w.Items = fold(i, w.Start, itemsOf(between(h.layers[i-1], w.Start, w.Start.Add(kept[i].length))))
			continue
		}
		for k := range late {
			late[k].Coverage = w.Items[0].Coverage
			late[k].Incomplete = late[k].Incomplete || i > 0 // without the finer windows, keys' heaviest windows lack these items
		}
		w.Items = fold(i, w.Start, slices.Concat(w.Items, late))
	}
}

// windowAt returns a layer's window of a time, nil if there is none.
func (h *history) windowAt(layer int, t time.Time) *heat.Window {
	for j := range h.layers[layer] {
		if w := &h.layers[layer][j]; !t.Before(w.Start) && t.Before(w.Start.Add(kept[layer].length)) {
			return w
		}
	}
	return nil
}

func itemsOf(list []heat.Window) (items []heat.Item) {
	for _, w := range list {
		items = append(items, w.Items...)
	}
	return items
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

// windows returns the complete windows from from to to, of the longest kept length up to step. Before
// the first of these it returns coarser windows, and after the last finer ones.
func (h *history) windows(from, to time.Time, step time.Duration) (list []heat.Window) {
	coarsest := 0
	for i := range kept {
		if kept[i].length <= step {
			coarsest = i
		}
	}
	for i := len(kept) - 1; i > coarsest; i-- {
		if finer := h.layers[i-1]; len(finer) > 0 && finer[0].Start.Before(to) {
			list = append(list, endingBy(between(h.layers[i], from, to), kept[i].length, finer[0].Start)...)
		} else {
			list = append(list, between(h.layers[i], from, to)...)
		}
		from = after(list, kept[i].length, from)
	}
	for i := coarsest; i >= 0; i-- {
		list = append(list, between(h.layers[i], from, to)...)
		from = after(list, kept[i].length, from)
	}
	return list
}

// endingBy returns the windows that end by a time.
func endingBy(list []heat.Window, length time.Duration, by time.Time) []heat.Window {
	for i, w := range list {
		if w.Start.Add(length).After(by) {
			return list[:i]
		}
	}
	return list
}

// after returns the end of the last window of a length, or at.
func after(list []heat.Window, length time.Duration, at time.Time) time.Time {
	if len(list) == 0 {
		return at
	}
	if end := list[len(list)-1].Start.Add(length); end.After(at) {
		return end
	}
	return at
}
