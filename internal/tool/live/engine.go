package live

import (
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// stampEach sets the time of each record to the result of second. DynamoDB Local, and emulators that contain it, truncate
// times to the minute.
func stampEach(records []ddbstream.Record, second func(ddbstream.Record) time.Time) {
	for i := range records {
		if !records[i].Created.IsZero() {
			records[i].Created = second(records[i])
		}
	}
}

// maxDelay is the time from most records' creation to their poll, if times are exact.
const maxDelay = pollInterval + grace

// spreadSincePoll returns a function that assigns a second to each record of a page. The seconds are evenly distributed
// between two polls, and within the records' minutes. A record that came within maxDelay keeps its time, which may be exact.
func spreadSincePoll(since, until time.Time, records int) func(ddbstream.Record) time.Time {
	step := max(0, until.Sub(since)) / time.Duration(max(1, records))
	at := since.Add(step / 2)
	return func(record ddbstream.Record) time.Time {
		second := record.Created
		if at.Sub(record.Created) > maxDelay {
			second = dynamolocal.CreationTime(record.Created, at).UTC().Truncate(time.Second)
		}
		at = at.Add(step)
		return second
	}
}

// spreadOverMinute returns a function that assigns a second to each past record. The seconds are evenly distributed over
// the record's minute, up to then.
func spreadOverMinute(then time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		seconds := max(1, min(60, 1+int(then.Sub(record.Created)/time.Second)))
		number := 0
		for _, digit := range record.Sequence[max(0, len(record.Sequence)-6):] {
			number = 10*number + int(digit)
		}
		return record.Created.Add(time.Duration(number%seconds) * time.Second)
	}
}

// maxSameTime is the largest number of consecutive records with one time whose time is probably not truncated to its minute.
const maxSameTime = 10

// haveMinuteTimes reports whether more than maxSameTime consecutive records have one time. If the service can seek to a
// time, fewer such records prove nothing: a schedule may write at each full minute.
func haveMinuteTimes(records []ddbstream.Record) bool {
	same := 0
	for i := range records {
		same++
		if i > 0 && !records[i].Created.Equal(records[i-1].Created) {
			same = 1
		}
		if same > maxSameTime {
			return true
		}
	}
	return false
}
