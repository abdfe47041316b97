package eventsource

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

// TablesAPI describes tables.
type TablesAPI interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Stream is the stream of a table.
type Stream struct {
	*ShardStream
	now func() time.Time
}

// OpenStream returns the stream of a table. It returns an error if the table has no stream.
func OpenStream(ctx context.Context, tables TablesAPI, client Client, table string) (*Stream, error) {
	out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, fmt.Errorf("describing table %s: %w", table, err)
	}
	if out.Table == nil || out.Table.LatestStreamArn == nil || out.Table.StreamSpecification == nil {
		return nil, fmt.Errorf("table %s has no stream: enable DynamoDB Streams", table)
	}
	return &Stream{NewShardStream(client, *out.Table.LatestStreamArn, out.Table.StreamSpecification.StreamViewType), time.Now}, nil
}

// Open implements Source.
func (s *Stream) Open(shard, after string) Reader {
	from := TrimHorizon
	if after != "" {
		from = AfterSequence(after)
	}
	return &reader{stream: s, cursor: s.Cursor(shard, from)}
}

// reader reads a stream shard of a table's stream.
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
	now := r.stream.now().UTC().Truncate(time.Second)
	for _, record := range r.stream.Real(page.Records) {
		created := record.Created
		if !r.stream.Exact() {
			created = dynamolocal.Stamp(created, now)
		}
		records = append(records, Record{
			Sequence: string(record.Sequence), Created: created, JSON: encodeRecord(record.Raw, created, r.stream.ARN()),
		})
	}
	return records, page.Closed, nil
}
