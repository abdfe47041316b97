package schema

// The kinds of keys in a caller's own table, by how its layout chooses write shards. They have no prefix, and Kinds does
// not return them.
const (
	OwnRandom Kind = "random items" // any write shard of the newest count
	OwnTimed  Kind = "timed items"  // of the count in force at the item's own time, or near it if its write shard is random
)

var own = []Traits{
	{Kind: OwnRandom, Placement: RandomPlacement, LargeSteps: true},
	{Kind: OwnTimed, Placement: TimedPlacement, PlacedBy: "values of the attribute that the write shard is calculated from"},
}
