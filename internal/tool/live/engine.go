package live

import (
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// stampEach sets the times of records to what second returns. DynamoDB Local, and emulators that contain it, stamp to the
// minute.
func stampEach(records []ddbstream.Record, second func(ddbstream.Record) time.Time) {
	for i := range records {
		if !records[i].Created.IsZero() {
			records[i].Created = second(records[i])
		}
	}
}

// maxDelay is the time from most records' creation to their poll, if times are exact.
const maxDelay = pollInterval + grace

// arrivals returns a function that assigns a second to each record of a page. It spreads the records evenly over the time
// between two polls, within their minute. A time that may be exact stays: the record came within maxDelay.
func arrivals(since, until time.Time, records int) func(ddbstream.Record) time.Time {
	step := max(0, until.Sub(since)) / time.Duration(max(1, records))
	at := since.Add(step / 2)
	return func(record ddbstream.Record) time.Time {
		second := record.Created
		if at.Sub(record.Created) > maxDelay {
			second = dynamolocal.Stamp(record.Created, at).UTC().Truncate(time.Second)
		}
		at = at.Add(step)
		return second
	}
}

// spread returns a function that assigns a second to each past record. It spreads the records evenly
// over their minute, up to then.
func spread(then time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		seconds := max(1, min(60, 1+int(then.Sub(record.Created)/time.Second)))
		number := 0
		for _, digit := range record.Sequence[max(0, len(record.Sequence)-6):] {
			number = 10*number + int(digit)
		}
		return record.Created.Add(time.Duration(number%seconds) * time.Second)
	}
}

// crowd is a number of records that are rarely written in the first second of a minute, with none after.
const crowd = 10

// crowded reports whether so many records have one time that it must be that of their minute. DynamoDB Local can't seek to
// a time, so a service that can has exact times otherwise: a schedule may write at each full minute.
func crowded(records []ddbstream.Record) bool {
	same := 0
	for i := range records {
		same++
		if i > 0 && !records[i].Created.Equal(records[i-1].Created) {
			same = 1
		}
		if same > crowd {
			return true
		}
	}
	return false
}
