package schema

import (
	"slices"
	"strings"
)

// Kind is the kind of a base key, as callers name it.
type Kind string

// The kinds.
const (
	Counter Kind = "counter"
	Event   Kind = "entity" // callers name the entity that the events are of
	Board   Kind = "board"
	Session Kind = "sessions"
	Limit   Kind = "limit"
)

// Traits are the properties in which kinds differ.
type Traits struct {
	Kind Kind

	// Table is the table with the kind's items, probes and stream markers.
	Table StreamTable

	// Prefix begins the partition keys of the kind's items, in its table, the rollups table and the
	// index. It is also the first part of the base key's sort key in the shard map.
	Prefix string

	// Index is the table's index whose partition keys are the write shards. It is "" if the write shards are partition keys
	// of the table.
	Index string

	// Bucket is the time bucket in a partition key, between the name and the write shard.
	Bucket Bucket

	// Placement is how a write finds its write shard.
	Placement Placement

	// PlacedBy names, in the plural, the values from which write shards are calculated. It is "" for RandomPlacement.
	PlacedBy string

	// LargeSteps means that a key of RandomPlacement grows in few, large steps, as keys of the other placements do.
	LargeSteps bool

	// Timeless means that no item's write shard depends on a past shard count. So the shard map keeps only the newest
	// changes of such a key.
	Timeless bool

	// DividesQuota means that the write shards divide a quota. A throttled hit refreshes its shard count only to raise
	// it: if all hits saw new write shards, more of them would transfer quota at the same time.
	DividesQuota bool

	// Summary is the form of the summaries into which the kind's stream records are folded.
	Summary Summary

	// FoldedSK is the only sort key of items that fold into summaries. "" means any.
	FoldedSK string
}

// StreamTable is a table with a stream. It has the items of one or more kinds. Its text is also the name under which the
// shard map stores the number of the table's partitions.
type StreamTable = string

// The tables with a stream. Items of no kind, such as the markers of keyed calls, are in ItemsTable. Events have a table of
// their own: they pile up, and would split the partitions and the stream of all kinds.
const (
	ItemsTable  StreamTable = "items"
	EventsTable StreamTable = "events"
)

// StreamTables returns the tables that have a stream.
func StreamTables() []StreamTable { return []StreamTable{ItemsTable, EventsTable} }

// Bucket is the form of the time bucket in a kind's partition keys.
type Bucket string

// The time buckets.
const (
	NoBucket     Bucket = ""
	DayBucket    Bucket = "day"    // of an event's own time, UTC
	PeriodBucket Bucket = "period" // all time, a month, a day or an ISO week; a score may be written to all four
	WindowBucket Bucket = "window" // of a limit, whose length the caller chooses
)

// Placement is how a write finds its write shard. It determines when a larger shard count takes effect.
type Placement int

// The placements.
const (
	RandomPlacement  Placement = iota // any write shard may be used, so writes use the newest count at once
	TimedPlacement                    // calculated from the count in force at the item's time
	IndexedPlacement                  // calculated from the newest count: an item moves with its next write
)

// Summary is the form of a kind's summaries in the rollups table.
type Summary string

// The forms of summaries.
const (
	NoSummary      Summary = ""
	PartialSummary Summary = "partials" // the newest state of each write shard but 0, 64 to an item
	RollupSummary  Summary = "rollups"  // measures of an hour, a fragment for each stream shard
	RankingSummary Summary = "ranking"  // the top of a period, and a histogram in fragments
)

// traits has a row for each kind, in the order in which the API's document lists the kinds.
var traits = []Traits{
	{
		Kind: Counter, Table: ItemsTable, Prefix: "C#", Placement: RandomPlacement, Timeless: true,
		// Write shard 0 has another sort key: a counter that never grew is its own summary.
		Summary: PartialSummary, FoldedSK: "+",
	},
	{
		Kind: Event, Table: EventsTable, Prefix: "E#", Bucket: DayBucket, Placement: TimedPlacement, PlacedBy: "event ids",
		Summary: RollupSummary,
	},
	{
		Kind: Board, Table: ItemsTable, Prefix: "L#", Index: "by_rank", Bucket: PeriodBucket, Placement: IndexedPlacement, PlacedBy: "players", Timeless: true,
		Summary: RankingSummary,
	},
	{Kind: Session, Table: ItemsTable, Prefix: "S#", Index: "by_group", Placement: IndexedPlacement, PlacedBy: "session ids", Timeless: true},
	{Kind: Limit, Table: ItemsTable, Prefix: "R#", Bucket: WindowBucket, Placement: RandomPlacement, DividesQuota: true},
}

// Kinds returns the kinds, in the order of the API's document.
func Kinds() []Kind {
	list := make([]Kind, len(traits))
	for i := range traits {
		list[i] = traits[i].Kind
	}
	return list
}

// Summarized returns the kinds that have summaries, in the order of Kinds.
func Summarized() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return TraitsOf(k).Summary == NoSummary })
}

// CutKind returns the kind whose prefix begins a key, and the text after the prefix. ok is false if there is no such kind.
func CutKind(key string) (k Kind, rest string, ok bool) {
	for i := range traits {
		if rest, ok := strings.CutPrefix(key, traits[i].Prefix); ok {
			return traits[i].Kind, rest, true
		}
	}
	return "", key, false
}

// TraitsOf returns the traits of a kind; the zero Traits for any other text.
func TraitsOf(k Kind) Traits {
	isKind := func(t Traits) bool { return t.Kind == k }
	for _, rows := range [][]Traits{traits, ownTraits} {
		if i := slices.IndexFunc(rows, isKind); i >= 0 {
			return rows[i]
		}
	}
	return Traits{}
}

// Indexed reports whether the kind's write shards are partition keys of an index.
func (t Traits) Indexed() bool { return t.Index != "" }
