// Package histogram reads and replaces the parts of a board's histogram: what each
// stream shard has of the scores in a board's period, and what was merged of them.
//
//	store := histogram.New(client, table, time.Now)
//	read, err := store.Read(ctx, "game", "all")
//	some := histogram.Choose(read, now, func(p histogram.Part) bool { return p.AsOf.Before(long) })
//	_, err = store.Replace(ctx, "game", "all", some, histogram.Sum(some, now), nil) // or parts.ErrMoved
//
// It does for boards what [parts] does for event rollups, and folds may go on
// meanwhile for the same reason: a part that was emptied has another sequence number
// than any fold remembers, so that a fold that comes after is refused, and adds to
// nothing what lies beyond.
package histogram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

type item = map[string]types.AttributeValue

// Part is a stream shard's part of a histogram, or the merged one.
type Part struct {
	StreamShard string    // schema.MergedPart for the merged one
	Sequence    string    // of the last record that was folded; "" for a damaged part without a proper one
	AsOf        time.Time // of the last fold, or of the merge; zero if not known
	ExpiresAt   int64     // Unix seconds; 0 for never
	Cells       board.Histogram
	// Damage is why the cells can't be read; nil if they can.
	Damage error

	stored item // as it was read; nil for one that was not read by a Store
}

// Emptied tells whether a part gave what it had to the merged part, and had nothing
// folded into it since.
func (p Part) Emptied() bool { return strings.HasSuffix(p.Sequence, schema.EmptiedSuffix) }

// Expired tells whether a part's time is over. It may be there for two days more,
// and counts for nothing then.
func (p Part) Expired(now time.Time) bool { return p.ExpiresAt != 0 && p.ExpiresAt <= now.Unix() }

// Attributes is the part as it is stored, without its keys, its TTL and its time.
func (p Part) Attributes() map[string]types.AttributeValue {
	return item{
		schema.Version:        &types.AttributeValueMemberN{Value: schema.BoardVersion},
		schema.RollupSequence: &types.AttributeValueMemberS{Value: p.Sequence},
		schema.HistogramCells: &types.AttributeValueMemberB{Value: p.Cells.Bytes()},
	}
}

// Parse reads a part out of its item. The error is its Damage, too.
func Parse(stored map[string]types.AttributeValue) (p Part, err error) {
	p.Sequence = sequenceOf(stored)
	asOf, _ := attribute.WholeOf(stored, schema.AsOf)
	if asOf > 0 {
		p.AsOf = time.UnixMilli(asOf).UTC()
	}
	if p.Cells, err = board.StoredHistogram(stored); err == nil && p.Sequence == "" {
		err = errors.New("its seq is missing, or none")
	}
	if seconds, known := attribute.WholeOf(stored, schema.ExpiresAt); known {
		p.ExpiresAt = seconds
	} else if stored[schema.ExpiresAt] != nil && err == nil {
		err = errors.New("its " + schema.ExpiresAt + " is not a whole number")
	}
	p.Damage = err
	return p, err
}

// sequenceOf returns a part's sequence number, "" for what can't be one: a fold would
// take all records for older than other text.
func sequenceOf(stored item) string {
	sequence := attribute.TextOf(stored, schema.RollupSequence)
	merged := attribute.TextOf(stored, schema.SK) == schema.HistogramPrefix+schema.MergedPart
	if !merged && strings.Trim(sequence, "0123456789"+schema.EmptiedSuffix) != "" {
		return ""
	}
	return sequence
}

// Store reads and replaces parts. It is safe for concurrent use.
type Store struct {
	client parts.Client
	table  string
	now    func() time.Time
}

// New returns a Store over the rollups table.
func New(client parts.Client, table string, now func() time.Time) *Store {
	return &Store{client: client, table: table, now: now}
}

// maxParts bounds the parts of one histogram.
const maxParts = 20_000

// Read returns all parts of a board period's histogram in the order of their stream
// shards, the merged one last, by strongly consistent reads. Those that have
// expired, were emptied or are damaged are among them.
func (s *Store) Read(ctx context.Context, name, period string) ([]Part, error) {
	fault := func(err error) error {
		return fmt.Errorf("reading the histogram %q: %w", schema.BoardRollupKey(name, period), err)
	}
	pages := dynamodb.NewQueryPaginator(s.client, &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :part)"),
		ExpressionAttributeValues: item{
			":pk":   &types.AttributeValueMemberS{Value: schema.BoardRollupKey(name, period)},
			":part": &types.AttributeValueMemberS{Value: schema.HistogramPrefix},
		},
	})
	var list []Part
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fault(err)
		}
		for _, it := range page.Items {
			part, _ := Parse(it) // its damage is in it
			part.stored, part.StreamShard = it, strings.TrimPrefix(attribute.TextOf(it, schema.SK), schema.HistogramPrefix)
			list = append(list, part)
		}
		if len(list) > maxParts {
			return nil, fault(fmt.Errorf("it has more than %d parts", maxParts))
		}
	}
	return list, nil
}

// Sum returns a part with what parts come to, and their lifetime. Damaged ones, and
// those that have expired, count for nothing; of nothing it is kept as an emptied
// part is.
func Sum(list []Part, now time.Time) (total Part) {
	total.ExpiresAt = now.Add(schema.EmptiedLifetime).Unix()
	found := false
	for _, p := range list {
		if p.Damage != nil || p.Emptied() || p.Expired(now) {
			continue
		}
		total.Cells.Merge(p.Cells)
		if !found {
			total.ExpiresAt, found = p.ExpiresAt, true
		}
		total.ExpiresAt = longer(total.ExpiresAt, p.ExpiresAt)
	}
	total.Cells.Limit(board.MaxCells)
	return total
}

// longer returns the later of two expiries, of which 0 is never.
func longer(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}
