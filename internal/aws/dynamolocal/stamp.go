package dynamolocal

import "time"

// EngineRegion is the Region in DynamoDB Local's records and stream ARNs.
const EngineRegion = "ddblocal"

// Stamp returns the creation time of a record, which the engine truncates to the minute. It is the time of the read, or
// the last second of the minute if the read is later. So a backlog does not seem to be new.
func Stamp(minute, read time.Time) time.Time {
	if last := minute.Add(time.Minute - time.Second); read.After(last) {
		return last
	}
	return read
}
