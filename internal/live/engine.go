package live

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/local"
)

// ofEngine tells the streams of DynamoDB Local, which stamps records to the minute.
func (s *stream) ofEngine() bool { return strings.Contains(s.arn, ":"+local.EngineRegion+":") }

// asDynamoDB mends what DynamoDB Local does otherwise: it stamps to the minute, of which second
// makes a second, and writes a record of a delete that found no item.
func asDynamoDB(records []ddbstream.Record, view types.StreamViewType, second func(ddbstream.Record) time.Time) []ddbstream.Record {
	olds := view == types.StreamViewTypeNewAndOldImages || view == types.StreamViewTypeOldImage
	kept := records[:0]
	for _, record := range records {
		if olds && record.Name == ddbstream.Remove && !record.Old.Present() {
			continue
		}
		if !record.Created.IsZero() {
			record.Created = second(record)
		}
		kept = append(kept, record)
	}
	return kept
}

// readAt takes the second in which a record was read, or the last one of its minute.
func readAt(at time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		return local.Stamp(record.Created, at.UTC().Truncate(time.Second))
	}
}

// spread gives records of the past a second each: over their minute, or as much of it as was
// over then, they are spread evenly.
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
