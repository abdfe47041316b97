package kind

// The kinds of names in a caller's own table, by how its layout chooses write shards. All does not
// return them: they have no prefix, and hotshard's functions don't meet them.
const (
	OwnRandom Kind = "random items" // any write shard of the count in force now
	OwnTimed  Kind = "timed items"  // of the count in force at the item's own time
)

var own = []Traits{
	{Kind: OwnRandom, Placement: Random, Leads: true},
	{Kind: OwnTimed, Placement: Timed},
}
