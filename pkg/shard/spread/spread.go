package spread

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client is what a Reader calls of DynamoDB.
type Client interface {
	dynamo.BatchGetter
	dynamo.Querier
}

// Reader counts what lies on each write shard of a base key.
//
// It counts with COUNT queries, up to 16 at a time, each of which costs what
// reading the items would: half a read unit for each 4 KB, and at least half a
// unit. It asks all write shards that the key ever had.
type Reader struct {
	client Client
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(client Client, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: client, table: table, shards: shards}
}

// Result is how evenly a base key's write shards are used.
type Result struct {
	shard.Spread // over the shard count that was in force

	// From and To are the time that is looked at: of events, their own; of a counter,
	// when the writes were watched. Zero for boards and sessions, which are counted as
	// they are now.
	From, To time.Time
	// Strays are what lies beyond the shard count that was in force: written while
	// processes still went by another one, or, on boards and among sessions, since
	// before a change. They are not in the Spread.
	Strays int64
	// Unknown are the write shards of a counter that were made, or made anew, while
	// it was watched: how often they were written to can't be told. They count 0.
	Unknown []int
}

const wholeDay = 24 * time.Hour

// maxSpreadDays bounds the days of one call.
const maxSpreadDays = 366

// Events counts an entity's events with from <= time < to by write shard, each
// stretch of time during which one shard count was in force by itself: where the
// count changed, shares are not to be equal over all. Expired events don't count.
// Marks that an audit has among the events at the moment do.
//
// It makes a query for each wholeDay, write shard and change of the count on that wholeDay,
// and looks at 366 days at most.
func (r *Reader) Events(ctx context.Context, entity string, from, to, now time.Time) ([]Result, error) {
	fault := func(err error) error { return fmt.Errorf("counting events of %q: %w", entity, err) }
	from, to = schema.CeilMilli(from), schema.CeilMilli(to)
	if !from.Before(to) {
		return nil, fault(fmt.Errorf("from %s is not before to %s", from.Format(time.RFC3339), to.Format(time.RFC3339)))
	}
	if to.Sub(from) > maxSpreadDays*wholeDay {
		return nil, fault(fmt.Errorf("from %s to %s are more than %d days", from.Format(time.RFC3339), to.Format(time.RFC3339), maxSpreadDays))
	}
	base := schema.BaseKey{Type: schema.Entity, Name: entity}
	entry, err := r.shards.Read(ctx, base.String())
	if err != nil {
		return nil, fault(err)
	}
	if entry.Forgot(from) {
		return nil, fault(fmt.Errorf("the shard counts before %s are not kept any more: begin then", entry.History[0].At.Format(time.RFC3339)))
	}
	var list []Result
	for _, s := range stretches(entry.History, from, to) {
		found, err := r.stretch(ctx, base, s, entry.Most(), now)
		if err != nil {
			return nil, fault(err)
		}
		list = append(list, found)
	}
	return list, nil
}

// stretch is a time during which one shard count was in force.
type stretch struct {
	from, to time.Time
	count    int
}

func stretches(h shard.History, from, to time.Time) []stretch {
	list := []stretch{{from, to, h.At(from)}}
	for _, c := range h {
		last := &list[len(list)-1]
		if !c.At.After(from) || !c.At.Before(to) || c.Count == last.count {
			continue
		}
		last.to = c.At
		list = append(list, stretch{c.At, to, c.Count})
	}
	return list
}

func (r *Reader) stretch(ctx context.Context, base schema.BaseKey, s stretch, most int, now time.Time) (Result, error) {
	var queries []countQuery
	for d := s.from.Truncate(wholeDay); d.Before(s.to); d = d.Add(wholeDay) {
		for n := range most {
			queries = append(queries, countQuery{n, &dynamodb.QueryInput{
				TableName:              &r.table,
				KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"), // no sort key equals a bound
				ExpressionAttributeValues: dynamo.Item{
					":pk":   dynamo.String(schema.Key{Base: base, Bucket: schema.EventBucket.Label(d, 0), Shard: n}.String()),
					":low":  dynamo.String(schema.EventBound(s.from)),
					":high": dynamo.String(schema.EventBound(s.to)),
				},
			}})
		}
	}
	counts, err := r.count(ctx, queries, most, now)
	if err != nil {
		return Result{}, err
	}
	found := spreadOver(counts, s.count)
	found.From, found.To = s.from, s.to
	return found, nil
}

// Sessions counts a group's active sessions by write shard, in the index. A session lies
// where the count at its last write put it.
func (r *Reader) Sessions(ctx context.Context, group string, now time.Time) (Result, error) {
	spread, err := r.whole(ctx, schema.BaseKey{Type: schema.Sessions, Name: group}, now, func(n int) *dynamodb.QueryInput {
		return &dynamodb.QueryInput{
			TableName:              &r.table,
			IndexName:              aws.String(schema.ByGroup),
			KeyConditionExpression: aws.String("session_shard = :shard AND begins_with(sk, :prefix)"),
			FilterExpression:       aws.String("ends_at > :millis"),
			ExpressionAttributeValues: dynamo.Item{
				":shard":  dynamo.String(schema.SessionShardKey(group, n)),
				":prefix": dynamo.String(schema.SessionPrefix),
				":millis": dynamo.Number(now.UnixMilli()),
			},
		}
	})
	if err != nil {
		return spread, fmt.Errorf("counting sessions of %q: %w", group, err)
	}
	return spread, nil
}

// Board counts a period's entries by write shard, in the index. An entry lies where
// the count at its last write put it.
func (r *Reader) Board(ctx context.Context, board, label string, now time.Time) (Result, error) {
	spread, err := r.whole(ctx, schema.BaseKey{Type: schema.Board, Name: board}, now, func(n int) *dynamodb.QueryInput {
		return &dynamodb.QueryInput{
			TableName:              &r.table,
			IndexName:              aws.String(schema.ByRank),
			KeyConditionExpression: aws.String("board_shard = :shard AND rank_key BETWEEN :low AND :high"),
			ExpressionAttributeValues: dynamo.Item{
				":shard": dynamo.String(schema.BoardShardKey(board, label, n)),
				":low":   dynamo.String(schema.FirstRankKey),
				":high":  dynamo.String(schema.LastRankKey),
			},
		}
	})
	if err != nil {
		return spread, fmt.Errorf("counting entries of board %q, period %s: %w", board, label, err)
	}
	return spread, nil
}

// whole counts what a key has on each of its write shards.
func (r *Reader) whole(ctx context.Context, base schema.BaseKey, now time.Time, query func(n int) *dynamodb.QueryInput) (Result, error) {
	entry, err := r.shards.Read(ctx, base.String())
	if err != nil {
		return Result{}, err
	}
	queries := make([]countQuery, entry.Most())
	for n := range queries {
		queries[n] = countQuery{n, query(n)}
	}
	counts, err := r.count(ctx, queries, entry.Most(), now)
	if err != nil {
		return Result{}, err
	}
	return spreadOver(counts, entry.History.Newest()), nil
}

// spreadOver is the spread over the first n write shards.
func spreadOver(counts []int64, n int) (s Result) {
	s.Spread = shard.SpreadOf(counts[:n])
	for _, stray := range counts[n:] {
		s.Strays += stray
	}
	return s
}

// countQuery counts items of one write shard.
type countQuery struct {
	shard int
	input *dynamodb.QueryInput
}

// count makes queries in parallel, and sums what they find by write shard: what has
// not expired, unless a query says what it looks for.
func (r *Reader) count(ctx context.Context, queries []countQuery, shards int, now time.Time) ([]int64, error) {
	found := make([]int64, len(queries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	for i, q := range queries {
		group.Go(func() error {
			q.input.Select = types.SelectCount
			if q.input.FilterExpression == nil {
				q.input.FilterExpression = aws.String("attribute_not_exists(expires_at) OR expires_at > :now")
				q.input.ExpressionAttributeValues[":now"] = dynamo.Number(now.Unix())
			}
			n, err := (&dynamo.Stream{Client: r.client, Input: q.input}).Count(ctx)
			found[i] = int64(n)
			return err
		})
	}
	err := group.Wait()
	counts := make([]int64, shards)
	for i, q := range queries {
		counts[q.shard] += found[i]
	}
	return counts, err
}
