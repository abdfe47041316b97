package live

import (
	"bytes"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// readAt returns a function of a record's second: the one in which it was read, or the last of its minute.
func readAt(at time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		return dynamolocal.Stamp(record.Created, at.UTC().Truncate(time.Second))
	}
}

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

// arrivals assigns times to records of DynamoDB Local that were written between two polls. It spreads
// those of one minute evenly over the time of it between the polls. Consecutive full pages are held
// back until the last one, so that all their records are spread together.
type arrivals struct {
	since, until time.Time
	pages        [][]byte
	bytes        int
	count, seen  map[int64]int // records of each minute, by its Unix time
}

// maxHeld is the maximum number of bytes that are held back.
const maxHeld = 64 << 20

func newArrivals(since time.Time) *arrivals {
	return &arrivals{since: since, count: make(map[int64]int), seen: make(map[int64]int)}
}

// expect counts the records of a page that was read at made.
func (a *arrivals) expect(records []ddbstream.Record, made time.Time) {
	for i := range records {
		a.count[records[i].Created.Unix()]++
	}
	a.until = later(a.until, made)
}

// hold keeps a page for later. It returns false if the page exceeds maxHeld.
func (a *arrivals) hold(page []byte) bool {
	if a.bytes += len(page); a.bytes > maxHeld {
		return false
	}
	a.pages = append(a.pages, bytes.Clone(page))
	return true
}

// second returns the second of the next record.
func (a *arrivals) second(record ddbstream.Record) time.Time {
	minute := record.Created.Unix()
	from, to := later(a.since, record.Created), record.Created.Add(time.Minute)
	if a.until.Before(to) {
		to = a.until
	}
	n := a.seen[minute]
	a.seen[minute]++
	if !to.After(from) { // the clocks differ
		return dynamolocal.Stamp(record.Created, a.until.UTC().Truncate(time.Second))
	}
	step := float64(to.Sub(from)) / float64(a.count[minute])
	return from.Add(time.Duration((float64(n) + 0.5) * step)).UTC().Truncate(time.Second)
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
