package eventsource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/local"
)

// The engine has no limit of 1 MB on a page, so large records could fill its
// heap. The page is therefore fitted to the size of the records seen.
const (
	firstPage = 100
	maxPage   = 1000    // GetRecords' own limit
	pageBytes = 4 << 20 // aimed at
)

// streamReader reads one stream shard with an iterator that it renews.
type streamReader struct {
	stream   *Stream
	shard    string
	after    string  // the last record read; "" for none
	iterator *string // nil when one is to be asked for
	page     int     // records to ask for
}

// Next implements Reader.
func (r *streamReader) Next(ctx context.Context, limit int) ([]Record, bool, error) {
	out, err := r.get(ctx, limit)
	if r.after == "" && trimmed(err) {
		// No gap, since nothing was read yet. A cancelled transaction takes a
		// sequence number but leaves no record; when one came first, the engine
		// starts an empty stream shard's iterator there, and refuses it once there
		// is a record beyond.
		r.iterator = nil
		out, err = r.get(ctx, limit)
	}
	if err != nil {
		return nil, false, r.fail(err)
	}
	records := r.stream.records(out.Records)
	if n := len(records); n > 0 {
		r.after = records[n-1].Sequence()
		r.fitPage(records)
	}
	r.iterator = out.NextShardIterator
	return records, r.iterator == nil, nil
}

// get makes one call, with a new iterator if there is none.
func (r *streamReader) get(ctx context.Context, limit int) (*dynamodbstreams.GetRecordsOutput, error) {
	if r.iterator == nil {
		if err := r.renew(ctx); err != nil {
			return nil, err
		}
	}
	return r.stream.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: r.iterator, Limit: aws.Int32(int32(min(limit, r.page))),
	})
}

func (r *streamReader) renew(ctx context.Context) error {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &r.stream.arn, ShardId: &r.shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	if r.after != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &r.after
	}
	out, err := r.stream.client.GetShardIterator(ctx, in)
	if err != nil {
		return err
	}
	r.iterator = out.ShardIterator
	return nil
}

// fail prepares the next try: with a new iterator, since this one may have
// expired, and from the oldest record when the position has been trimmed.
func (r *streamReader) fail(err error) error {
	r.iterator = nil
	if trimmed(err) {
		r.after = ""
	}
	return fmt.Errorf("read stream shard %s: %w", r.shard, err)
}

func trimmed(err error) bool {
	_, ok := errors.AsType[*types.TrimmedDataAccessException](err)
	return ok
}

func (r *streamReader) fitPage(records []Record) {
	total := int64(1)
	for _, rec := range records {
		total += aws.ToInt64(rec.Change.Dynamodb.SizeBytes)
	}
	r.page = int(max(1, min(maxPage, pageBytes*int64(len(records))/total)))
}

func (s *Stream) records(changes []types.Record) []Record {
	now := s.now().UTC().Truncate(time.Second)
	records := make([]Record, 0, len(changes))
	for _, change := range changes {
		if change.Dynamodb == nil {
			continue // nothing that could be delivered
		}
		ofEngine := aws.ToString(change.AwsRegion) == local.EngineRegion
		if ofEngine && removedNothing(&change) {
			continue
		}
		created := aws.ToTime(change.Dynamodb.ApproximateCreationDateTime).UTC()
		if ofEngine {
			created = local.Stamp(created, now)
		}
		records = append(records, Record{Change: change, Created: created})
	}
	return records
}

// removedNothing tells whether a record is of a delete that found no item. The engine
// writes one, without an image, when several callers delete the same item at the same
// time; DynamoDB writes none.
func removedNothing(change *types.Record) bool {
	view := change.Dynamodb.StreamViewType
	olds := view == types.StreamViewTypeNewAndOldImages || view == types.StreamViewTypeOldImage
	return olds && change.EventName == types.OperationTypeRemove && len(change.Dynamodb.OldImage) == 0
}
