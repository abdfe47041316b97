package schema

// The kinds of keys in a caller's own table, by the placement of its layout. They have no prefix, and Kinds does not return
// them.
const (
	OwnRandom Kind = "random items" // an item may be on any write shard of the newest count
	OwnTimed  Kind = "timed items"  // an item is on a write shard of the count in force at, or near, its own time
)

var ownTraits = []Traits{
	{Kind: OwnRandom, Placement: RandomPlacement, LargeSteps: true},
	{Kind: OwnTimed, Placement: TimedPlacement, PlacedBy: "values of the attribute that the write shard is calculated from"},
}
