package eventsource

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

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
