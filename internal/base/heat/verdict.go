package heat

import (
	"cmp"
	"slices"
	"time"
)

// Verdicts are the statuses of a key over some windows.
type Verdicts struct {
	// Worst is the worst status of any window. A window is also Hot if one second had the partition's limit or more, or
	// if a throttled writer made the key grow: see [Change.Throttled].
	Worst Status

	// Now is the worst status of the two newest complete windows and of later, incomplete ones.
	Now Status

	// Current is the certified rate of the newest complete window, in WCU/s.
	Current float64

	// HotUntil is the end of the last hot window, or zero if no window was hot.
	HotUntil time.Time
}

// CooledAt returns the end of the last hot window of a key that was hot and is normal now, or zero.
func (v *Verdicts) CooledAt() time.Time {
	if v.Now > Normal || v.Worst == Normal {
		return time.Time{}
	}
	return v.HotUntil
}

// join merges the verdicts of other windows or partition keys.
func (v *Verdicts) join(o Verdicts) {
	v.Worst, v.Now, v.Current = max(v.Worst, o.Worst), max(v.Now, o.Now), max(v.Current, o.Current)
	if o.HotUntil.After(v.HotUntil) {
		v.HotUntil = o.HotUntil
	}
}

// addHot adds the status s, Hot or worse, of the window of this length that ends at end. Windows are complete up to asOf.
func (v *Verdicts) addHot(s Status, end time.Time, length time.Duration, asOf time.Time) {
	hot := Verdicts{Worst: s, HotUntil: end}
	if isCurrent(end, length, asOf) {
		hot.Now = s
	}
	v.join(hot)
}

// isCurrent reports whether the window of this length that ends at end affects [Verdicts].Now.
func isCurrent(end time.Time, length time.Duration, asOf time.Time) bool {
	return end.After(asOf.Add(-2 * length))
}

// Current reports whether a window affects [Verdicts].Now. asOf is the end of the newest complete window.
func Current(w Window, asOf time.Time) bool {
	return slices.ContainsFunc(w.Items, func(it Item) bool { return isCurrent(it.End(), it.baseLength(), asOf) })
}

// verdicts returns the verdicts of one tally. Windows are complete up to asOf.
func (t *tally) verdicts(asOf time.Time) (v Verdicts) {
	item := t.entries[0].item
	base, rate := item.baseLength(), t.rate()
	topEnd := t.topAt.Add(base)
	if t.topAt.Before(asOf) && !topEnd.Before(asOf) { // it is the newest complete window
		v.Current = rate
	}
	if s := Verdict(rate, item.Limit, item.HotRate); s >= Hot {
		v.addHot(s, topEnd, base, asOf)
	}
	if float64(t.peak) >= item.Limit {
		untilPeak := max(0, t.peakAt.Sub(item.Start)) // the second may begin before the item
		peakEnd := item.Start.Add(untilPeak.Truncate(base) + base)
		v.addHot(Hot, MinTime(peakEnd, item.End()), base, asOf)
	}
	return v
}

// Join merges the verdicts, peaks and times of another row of the same base key. It keeps the hottest window of r.
func (r *KeyHeat) Join(o *KeyHeat) {
	r.Verdicts.join(o.Verdicts)
	r.Status = max(r.Status, o.Status)
	if o.Peak > r.Peak {
		r.Peak, r.PeakAt = o.Peak, o.PeakAt
	}
	r.FirstSeen = MinTime(r.FirstSeen, o.FirstSeen)
	if o.LastSeen.After(r.LastSeen) {
		r.LastSeen = o.LastSeen
	}
}

// ownShare is the least share of a partition's limit that the heaviest second of a hot key takes. A key below it was
// throttled for a neighbour on its partition.
const ownShare = 0.5

// ownLoad reports whether a key whose heaviest second takes peak WCU can be throttled for its own load. limit is in WCU/s.
func ownLoad(peak uint64, limit float64) bool { return float64(peak) >= ownShare*limit }

// MarkGrowths marks as hot each window in which throttled writers raised the base key's shard count. It marks none if the
// key's own load was too low to be throttled, since then another key of its partition was the cause.
func (r *KeyHeat) MarkGrowths(changes []Change, asOf time.Time) {
	if ownLoad(r.Peak, r.Limit) {
		r.addGrowths(changes, cmp.Or(r.Window, defaultWindow), asOf)
	}
}

// addGrowths marks the windows as hot in which throttled writers raised the base key's shard count. Its write shards
// aren't marked: which of them was throttled is unknown.
func (v *Verdicts) addGrowths(changes []Change, length time.Duration, asOf time.Time) {
	for _, c := range changes {
		if c.Throttled() {
			v.addHot(Hot, AlignDown(c.Time.Time, length).Add(length), length, asOf)
		}
	}
}
