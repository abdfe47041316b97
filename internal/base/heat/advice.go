package heat

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// largeWrite is the lowest mean weight of writes, in units, for which advice suggests smaller items.
const largeWrite = 4

// Sharding is what advice needs of a base key's write shards. The zero value is of a key without write shards.
type Sharding struct {
	Kind       schema.Kind
	Shards     int          // newest shard count
	Before     int          // the count before it
	Changed    time.Time    // when it took effect; zero if it never changed
	Grown      shard.Change // the newest change that raised the count; zero if none did
	Partitions int          // of the table

	Commands display.Commands // for the command lines in advice
}

// ShardingOf returns the Sharding of a base key with this history, without Commands.
func ShardingOf(kind schema.Kind, history shard.History, partitions int) Sharding {
	s := Sharding{Kind: kind, Shards: history.Newest(), Before: 1, Grown: NewestGrowth(history), Partitions: partitions}
	if last := len(history) - 1; last >= 0 {
		s.Before, s.Changed = history[:last].Newest(), history[last].At
	}
	return s
}

// WorstWindow returns the worst of a key's rows, by verdict and then by rate. Each row is the key's heat in one window. Rows
// of windows that began before the last change of the shard count don't count: without any other row it returns nil.
func (s *Sharding) WorstWindow(windows []KeyHeat) (worst *KeyHeat) {
	for i := range windows {
		w := &windows[i]
		if w.Start.Before(s.Changed) {
			continue
		}
		if worst == nil || cmp.Or(cmp.Compare(w.Worst, worst.Worst), cmp.Compare(w.WriteUnitsPerSecond, worst.WriteUnitsPerSecond)) > 0 {
			worst = w
		}
	}
	return worst
}

// Advice returns sentences with figures: how many write shards the key needs, why more don't help, or how it cooled.
// The row has the key's verdicts. window is the key's row in the one window whose rates the advice is for: see
// [Sharding.WorstWindow]. It is nil if no window shows the newest shard count yet.
func (r *KeyHeat) Advice(window *KeyHeat, s Sharding) string {
	if window == nil {
		window = &KeyHeat{Limit: r.Limit}
	}
	switch {
	case r.Worst == Normal:
		return fmt.Sprintf("%.0f%% of the partition limit. No action needed.", 100*r.Current/r.Limit)
	case r.Now == Normal:
		return r.describeCooled(s.Grown)
	case s.changedSinceHot(window):
		return s.adviseWaiting()
	case window.Status == Normal:
		return window.adviseBurst(s.Kind)
	}
	return window.describeLoad() + window.adviseCure(s)
}

// changedSinceHot reports whether the newest shard count took effect after the key was hot last, or during the window,
// whose rates then are of both counts.
func (s *Sharding) changedSinceHot(window *KeyHeat) bool {
	return !s.Changed.IsZero() && (window.Worst == Normal || window.Start.Before(s.Changed))
}

// adviseWaiting returns the advice for a key whose shard count changed while it was hot.
func (s *Sharding) adviseWaiting() string {
	if s.Shards < s.Before {
		return fmt.Sprintf("Resharded from %d to %d at %s while hot. Increase it again.", s.Before, s.Shards, clock(s.Changed))
	}
	return fmt.Sprintf("Resharded to %d at %s; watching whether it cools.", s.Shards, clock(s.Changed))
}

// NewestGrowth returns the newest change that raised a shard count, or the zero change if no change did.
func NewestGrowth(history shard.History) (grown shard.Change) {
	before := 1
	for _, c := range history {
		if c.Count > before {
			grown = c
		}
		before = c.Count
	}
	return grown
}

// adviseBurst returns the advice for a key that was hot for single seconds only.
func (r *KeyHeat) adviseBurst(kind schema.Kind) string {
	action := "No action needed unless its writes are throttled."
	if kind != "" {
		action = "It grows by itself when writes are throttled."
	}
	return fmt.Sprintf("Its heaviest second took %d WCU, and a partition takes %s WCU/s; its mean stays below. %s", r.Peak, wcu(r.Limit), action)
}

// describeLoad returns a sentence with the share of the partition limit that the key uses, or "" for a key that is not hot.
func (r *KeyHeat) describeLoad() string {
	if r.Status == Normal {
		return ""
	}
	text := fmt.Sprintf("Using at least %.0f%% of a partition's %s WCU/s", r.percent(r.WriteUnitsPerSecond), wcu(r.Limit))
	if r.Status == Saturated {
		text += ", so writes may be throttled"
	}
	return text + ". "
}

// describeCooled returns the text on how a hot key cooled.
func (r *KeyHeat) describeCooled(grown shard.Change) string {
	now := fmt.Sprintf("now at %.0f%% of the partition limit. No action needed.", 100*r.Current/r.Limit)
	if grown.At.After(r.FirstSeen) && !grown.At.After(r.HotUntil) {
		return fmt.Sprintf("Cooled: resharded to %d at %s, %s", grown.Count, clock(grown.At), now)
	}
	return fmt.Sprintf("Cooled: hot until %s, %s", clock(r.HotUntil), now)
}

// percent returns a rate as a percentage of the limit, rounded down.
func (r *KeyHeat) percent(rate float64) float64 { return math.Floor(100 * rate / r.Limit) }

// clock formats a time of day.
func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// wcu formats a rate in whole units.
func wcu(rate float64) string { return Grouped(math.Round(rate)) }

// Grouped returns the whole part of a number that is not negative, with a comma for thousands.
func Grouped(n float64) string {
	text := strconv.FormatFloat(math.Floor(n), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// adviseCure returns the advice for a hot key.
func (r *KeyHeat) adviseCure(s Sharding) string {
	if s.Kind == "" {
		return r.adviseSplit(s.Commands)
	}
	remedy, count := r.baseLoad(s.Kind, s.Shards).Remedy(s.Partitions)
	var text string
	switch {
	case remedy == growth.Pace:
		text = "Events of past days keep the write shards of their day, so more write shards don't help: pace their sender."
	case remedy == growth.Spread:
		text = fmt.Sprintf("Its %d write shards together take %.1f WCU/s, most of that in write shard %d, so more of them would stand idle: %s.",
			s.Shards, r.Siblings.Low, r.writeShard(), adviseEvenOut(s.Kind))
	case s.Shards >= shard.MaxShards:
		text = fmt.Sprintf("It has %d write shards, the most that a key can have.", s.Shards)
	case remedy == growth.Split:
		text = fmt.Sprintf("More write shards do not help while the table has %s. Raise its warm throughput, or wait some minutes for DynamoDB to split them.", display.Several(s.Partitions, "partition"))
	default:
		text = fmt.Sprintf("Increase from %d to %d write shards.", s.Shards, count)
	}
	if size := r.itemSize(); size != "" {
		text += " Or shrink its " + size + " items: they cost less then."
	}
	return text
}

// writeShard returns the number of the row's write shard. Advice does not name keys: logs may have their hashes instead.
func (r *KeyHeat) writeShard() int {
	_, n, _ := shard.Hash.Split(r.Key) // a base key's write shards have numbers
	return n
}

// adviseEvenOut returns the part of a sentence that says how to even out the loads of a key's write shards.
func adviseEvenOut(kind schema.Kind) string {
	if by := schema.TraitsOf(kind).PlacedBy; by != "" {
		return "spread its writes over more " + by
	}
	return "its writers choose write shards at random, so one has an old shard count, and learns the new one within seconds"
}

// adviseSplit advises on a hot key that hotshard does not shard: as many keys as an entity would need write shards.
func (r *KeyHeat) adviseSplit(commands display.Commands) string {
	ofIndex := ""
	if r.Index != "" {
		ofIndex = " of the index " + r.Index
	}
	_, keys := growth.Hot{Type: schema.Event, Limit: r.Limit, Shards: 1, Total: r.WriteUnitsPerSecond}.Remedy(shard.MaxShards)
	text := fmt.Sprintf("Split it across %d partition keys%s", keys, ofIndex)
	if size := r.itemSize(); size != "" {
		text += ", or shrink its " + size + " items"
	}
	text += "."
	if r.Index == "" && r.Table != "" {
		text += fmt.Sprintf(" `%s` prints the lines to change. If a program shards it already, it needs %d times as many write shards.", commands.Line("adopt", "--table", r.Table), keys)
	}
	return text
}

// baseLoad returns the load of the row's base key, which has this number of write shards. If items don't list all of
// them, its Total assumes the row's load for each. Without Siblings, Others is infinite.
func (r *KeyHeat) baseLoad(kind schema.Kind, shards int) growth.Hot {
	hot := growth.Hot{
		Type: kind, Limit: r.Limit, Shards: shards, Past: r.isPastDay(),
		Hottest: r.WriteUnitsPerSecond, Others: math.Inf(1), Total: r.Siblings.Low,
	}
	if r.Siblings.Seen > 0 {
		hot.Others = r.Siblings.High + float64(shards)*r.Siblings.Rest - r.WriteUnitsPerSecond
	}
	if r.Siblings.Seen < shards {
		hot.Total = max(hot.Total, r.WriteUnitsPerSecond*float64(shards))
	}
	return hot
}

// itemSize returns the approximate size of the key's items, or "" if it is unknown or small.
func (r *KeyHeat) itemSize() string {
	if r.UnitsPerWrite < largeWrite {
		return ""
	}
	return fmt.Sprintf("~%.0f KB", math.Ceil(r.UnitsPerWrite))
}
