package local

import "time"

// EngineRegion is what DynamoDB Local writes into records, and its streams' ARNs, as their
// region.
const EngineRegion = "ddblocal"

// Stamp gives the second of a record that the engine has stamped to the minute:
// the second in which it is read, or, when it is read late, the last one of its
// minute, so that a backlog does not look as if it had been written just now.
func Stamp(minute, read time.Time) time.Time {
	if last := minute.Add(time.Minute - time.Second); read.After(last) {
		return last
	}
	return read
}
