package eventsource

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

// Source is the stream that a Mapping reads. OpenStream returns a table's stream. Tests wrap it in a stream that
// spreads its records over more stream shards.
type Source interface {
	// ARN names the stream. Mappings with one ARN read one stream.
	ARN() string
	// Shards lists the stream shards in any order, including closed ones whose records
	// can still be read. Their number is bounded.
	Shards(ctx context.Context) ([]Shard, error)
	// Open returns a reader of a stream shard's records after a sequence number of that
	// stream shard. "" starts at the oldest record.
	Open(shard, after string) Reader
}

// Reader is a position in a stream shard. It is used by one goroutine.
type Reader interface {
	// Next returns at most limit records and advances the position past them. It returns no records if there are none
	// yet. closed reports that no more will follow. An error leaves the position unchanged.
	Next(ctx context.Context, limit int) (records []Record, closed bool, err error)
}

// Record is one change of an item.
type Record struct {
	Sequence string    // unique in its stream shard, and increasing
	Created  time.Time // when the change was made, to the second
	JSON     []byte    // the record in Lambda's event; encoded once, so it is the same at each delivery
}

// Open implements Source.
func (s *Stream) Open(shard, after string) Reader {
	from := TrimHorizon
	if after != "" {
		from = AfterSequence(after)
	}
	return &reader{stream: s, cursor: s.Cursor(shard, from)}
}

// reader reads a stream shard.
type reader struct {
	stream *Stream
	cursor *Cursor
	buffer Buffer
}

// Next implements Reader. If the records after the position were trimmed, the next call continues at the oldest record.
func (r *reader) Next(ctx context.Context, limit int) (records []Record, closed bool, err error) {
	limit = min(limit, MaxRecords)
	page, err := r.cursor.Next(ctx, &r.buffer, limit)
	if IsStale(err) {
		page, err = r.cursor.Next(ctx, &r.buffer, limit)
	}
	if IsTrimmed(err) {
		r.cursor.Seek(TrimHorizon)
	}
	if err != nil {
		return nil, false, err
	}
	defer r.buffer.Release()
	now := time.Now().UTC().Truncate(time.Second)
	for _, record := range r.stream.DropEmptyDeletes(page.Records) {
		created := record.Created
		if !r.stream.Exact() {
			created = dynamolocal.CreationTime(created, now)
		}
		records = append(records, Record{
			Sequence: string(record.Sequence), Created: created, JSON: encodeRecord(record.Raw, created, r.stream.ARN()),
		})
	}
	return records, page.Closed, nil
}
