package live

import (
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// stampEach sets the times of records of DynamoDB Local, which stamps to the minute, to what second
// returns.
func stampEach(records []ddbstream.Record, second func(ddbstream.Record) time.Time) []ddbstream.Record {
	for i := range records {
		if !records[i].Created.IsZero() {
			records[i].Created = second(records[i])
		}
	}
	return records
}

// arrivals returns a function of the second of each record of a page, for the records that were written between two
// polls. It spreads them evenly over that time, as far as it is in their minute.
func arrivals(since, until time.Time, records int) func(ddbstream.Record) time.Time {
	step := max(0, until.Sub(since)) / time.Duration(max(1, records))
	at := since.Add(step / 2)
	return func(record ddbstream.Record) time.Time {
		second := dynamolocal.Stamp(record.Created, later(at, record.Created)).UTC().Truncate(time.Second)
		at = at.Add(step)
		return second
	}
}

// spread returns a function that assigns a second to each past record. It spreads the records evenly
// over their minute, as far as that is before then.
func spread(then time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		seconds := max(1, min(60, 1+int(then.Sub(record.Created)/time.Second)))
		number := 0
		for _, digit := range record.Sequence[max(0, len(record.Sequence)-6):] {
			number = 10*number + int(digit-'0')
		}
		return record.Created.Add(time.Duration(number%seconds) * time.Second)
	}
}
