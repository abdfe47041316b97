package dynamolocal

import "time"

// EngineRegion is the Region in DynamoDB Local's records and stream ARNs.
const EngineRegion = "ddblocal"

// CreationTime estimates when a record was created, since the engine gives only the minute. It returns the time of the
// read, or the minute's last second if the read is later, so that a backlog does not seem to be new.
func CreationTime(minute, read time.Time) time.Time {
	if last := minute.Add(time.Minute - time.Second); read.After(last) {
		return last
	}
	return read
}
