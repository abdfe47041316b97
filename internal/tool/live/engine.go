package live

import (
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// stampEach sets the time of each record that has a time to the result of estimate. DynamoDB Local, and emulators that contain
// it, truncate times to the minute.
func stampEach(records []ddbstream.Record, estimate func(ddbstream.Record) time.Time) {
	for i := range records {
		if !records[i].Created.IsZero() {
			records[i].Created = estimate(records[i])
		}
	}
}

// maxDelay is the longest time from a record's creation to its poll that is usual if times are exact.
const maxDelay = pollInterval + grace

// spreadSincePoll returns a function that estimates the times of a page's records, in order: evenly from since, the
// last poll, to until, but in the records' minutes. A time at most maxDelay before its estimate stays: it may be exact.
func spreadSincePoll(since, until time.Time, records int) func(ddbstream.Record) time.Time {
	step := max(0, until.Sub(since)) / time.Duration(max(1, records))
	at := since.Add(step / 2)
	return func(record ddbstream.Record) time.Time {
		estimated := record.Created
		if at.Sub(record.Created) > maxDelay {
			estimated = dynamolocal.CreationTime(record.Created, at).UTC().Truncate(time.Second)
		}
		at = at.Add(step)
		return estimated
	}
}

// spreadOverMinute returns a function that estimates the times of past records. By their sequence numbers the records are
// spread evenly over the seconds of their minute, but not after the poll.
func spreadOverMinute(polled time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		seconds := max(1, min(60, 1+int(polled.Sub(record.Created)/time.Second)))
		number := 0
		for _, digit := range record.Sequence[max(0, len(record.Sequence)-6):] {
			number = 10*number + int(digit)
		}
		return record.Created.Add(time.Duration(number%seconds) * time.Second)
	}
}

// maxSameTime is how many consecutive records may have the same time, such as those of a job at each full minute.
const maxSameTime = 10

// haveMinuteTimes reports whether times are truncated to the minute: more than maxSameTime consecutive records have the same.
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
