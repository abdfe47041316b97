package heat

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/pkg/shard"
)

// largeWrite is the lowest mean weight of writes, in units, for which advice suggests smaller items.
const largeWrite = 4

// Advice returns sentences with figures: how many write shards the key needs, why more don't help, or how it cooled.
// shards is the base key's newest shard count, grown its [NewestGrowth], and partitions the number of the table's
// partitions. The three are ignored for keys without write shards.
func (r *KeyHeat) Advice(shards int, grown shard.Change, partitions int) string {
	base, _ := r.Base()
	return r.AdviceAs(base.Type, shards, grown, partitions)
}

// AdviceAs is Advice for a key whose kind the caller knows, such as one of an adopted table. A key of the zero kind has
// no write shards.
func (r *KeyHeat) AdviceAs(t kind.Kind, shards int, grown shard.Change, partitions int) string {
	switch {
	case r.Crowd.Keys > 0:
		return r.load() + r.Crowd.advice(r.Limit)
	case r.Worst == Warm:
		return fmt.Sprintf("%.0f%% of the partition limit. No action needed.", r.percent(r.WriteUnitsPerSecond))
	case r.Now == Warm:
		return r.cooled(grown)
	case grown.Count > 1 && shards >= grown.Count && r.HotUntil.Add(-r.window()).Before(grown.At):
		return r.load() + fmt.Sprintf("Resharded to %d at %s; watching whether it cools.", grown.Count, clock(grown.At))
	case r.Status == Warm:
		return r.burst(t)
	}
	return r.load() + r.cure(t, shards, partitions)
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

// burst returns the advice for a key that was hot for single seconds only.
func (r *KeyHeat) burst(t kind.Kind) string {
	then := "No action needed unless its writes are throttled."
	if t != "" {
		then = "It grows by itself when writes are throttled."
	}
	return fmt.Sprintf("Its heaviest second took %d WCU, and a partition takes %s WCU/s; its mean stays below. %s", r.Peak, wcu(r.Limit), then)
}

// load returns, as text, the share of the partition limit that the key uses in its hottest window.
func (r *KeyHeat) load() string {
	if r.Status == Warm {
		return ""
	}
	text := fmt.Sprintf("Using at least %.0f%% of a partition's %s WCU/s", r.percent(r.WriteUnitsPerSecond), wcu(r.Limit))
	if r.Status == Saturated {
		text += ", so writes may be throttled"
	}
	return text + ". "
}

// cooled returns the text on how a hot key cooled.
func (r *KeyHeat) cooled(grown shard.Change) string {
	now := fmt.Sprintf("now at %.0f%% of the partition limit. No action needed.", r.percent(r.Current))
	if grown.At.After(r.FirstSeen) && !grown.At.After(r.HotUntil) {
		return fmt.Sprintf("Cooled: resharded to %d at %s, %s", grown.Count, clock(grown.At), now)
	}
	return fmt.Sprintf("Cooled: hot until %s, %s", clock(r.HotUntil), now)
}

func (r *KeyHeat) percent(rate float64) float64 { return math.Floor(100 * rate / r.Limit) }

// window returns the length of the hottest window.
func (r *KeyHeat) window() time.Duration {
	if r.Window > 0 {
		return r.Window
	}
	return usualWindow
}

// clock formats a time of day.
func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// wcu formats a rate in whole units.
func wcu(rate float64) string { return Grouped(math.Round(rate)) }

// Grouped returns the whole part of a number that is not negative, with a comma for thousands.
func Grouped(n float64) string {
	text := strconv.FormatFloat(math.Floor(n), 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func (c Crowd) advice(limit float64) string {
	return fmt.Sprintf("It is one of %d warm keys on a stream shard that takes %.0f%% of the partition limit, and none is hot by itself. If that stream shard is one partition, the partition is hot, and more write shards of one key don't cure it: DynamoDB splits it, unless writes go to ever greater sort keys. Until then, pace the writes.",
		c.Keys, math.Floor(100*c.Rate/limit))
}

// cure returns the advice for a hot key.
func (r *KeyHeat) cure(t kind.Kind, shards, partitions int) string {
	if t == "" {
		return r.adviseSplit()
	}
	remedy, count := r.baseLoad(t, shards).Remedy(partitions)
	text := fmt.Sprintf("Increase from %d to %d write shards.", shards, count)
	switch {
	case remedy == growth.Pace:
		text = "Events of past days keep the write shards of their day, so more write shards don't help: pace their sender."
	case remedy == growth.Spread:
		text = fmt.Sprintf("Its %d write shards together take %.1f WCU/s, most of that in this one, so more of them would stand idle: spread the attribute that the write shard is calculated from.",
			shards, r.Siblings.Low)
	case shards >= shard.MaxShards:
		text = fmt.Sprintf("It has %d write shards, the most that a key can have.", shards)
	case remedy == growth.Split:
		text = fmt.Sprintf("More write shards do not help: the table's %d partitions are the limit. Raise its warm throughput, or wait some minutes for DynamoDB to split them.", partitions)
	}
	if size := r.itemSize(); size != "" {
		text += " Or shrink its " + size + " items: they cost less then."
	}
	return text
}

// adviseSplit returns the advice for a hot key of a table without write shards.
func (r *KeyHeat) adviseSplit() string {
	ofIndex := ""
	if r.Index != "" {
		ofIndex = " of the index " + r.Index
	}
	_, keys := growth.Hot{Type: kind.Event, Limit: r.Limit, Shards: 1, Total: r.WriteUnitsPerSecond}.Remedy(shard.MaxShards)
	text := fmt.Sprintf("Not sharded. Split it across %d partition keys%s", keys, ofIndex)
	if size := r.itemSize(); size != "" {
		text += ", or shrink its " + size + " items"
	}
	text += "."
	if r.Index == "" && r.Table != "" {
		text += " `hotshard adopt --table " + r.Table + "` prints the lines to change."
	}
	return text
}

// baseLoad returns the load of the row's base key. It assumes this write shard's load for unlisted ones.
func (r *KeyHeat) baseLoad(t kind.Kind, shards int) growth.Hot {
	hot := growth.Hot{
		Type: t, Limit: r.Limit, Shards: shards, Past: r.past(),
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
