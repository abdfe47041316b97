package spread

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client is the part of DynamoDB's client that a Reader calls.
type Client interface {
	client.BatchGetter
	client.Querier
}

// Reader counts the items on each write shard of a base key.
//
// Its methods, except Counter, make COUNT queries of all write shards that the key ever had, up to 16 at a time. Each
// query costs as much as reading the items: half a read unit for each 4 KB, at least half a unit.
type Reader struct {
	client Client
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(db Client, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: db, table: table, shards: shards}
}

// Result is how evenly a base key's write shards are used.
type Result struct {
	shard.Spread // over the write shards from 0 to the shard count in effect, less 1

	// From and To are the range of the events' times, or the time during which a counter's writes
	// were counted. They are zero for boards and sessions, whose current items are counted.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Strays is the number of items on write shards at or above the shard count in effect; the Spread leaves them out.
	// New events of the 15 s before a growth took effect may be strays, and so may items from writers with an outdated
	// shard map. Boards and sessions may also have strays from before a decrease.
	Strays int64 `json:"strays"`
	// Unknown are a counter's write shards that were created, or deleted and created again, while writes were counted.
	// The number of writes to them is unknown and counts as 0.
	Unknown []int `json:"unknown,omitempty"`
}

const wholeDay = 24 * time.Hour

// maxSpreadDays bounds the range of one call.
const maxSpreadDays = 366

// Events counts an entity's events with from <= time < to by write shard. It returns a Result for
// each period in which the shard count did not change. It leaves out expired events, but counts the
// stream markers that checks write among the events.
//
// Events makes a query for each Result, day and write shard. A range of more than 366 days is ErrMisused.
func (r *Reader) Events(ctx context.Context, entity string, from, to, now time.Time) ([]Result, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(r.client, r.shards, entity)); err != nil {
		return nil, err
	}
	describe := func(err error) error { return fmt.Errorf("counting events of %q: %w", entity, err) }
	from, to = schema.CeilMilli(from), schema.CeilMilli(to)
	if !from.Before(to) {
		return nil, describe(fmt.Errorf("%w: from %s is not before to %s", shard.ErrMisused, from.Format(time.RFC3339), to.Format(time.RFC3339)))
	}
	if to.Sub(from) > maxSpreadDays*wholeDay {
		return nil, describe(fmt.Errorf("%w: from %s to %s are more than %d days: count shorter ranges", shard.ErrMisused, from.Format(time.RFC3339), to.Format(time.RFC3339), maxSpreadDays))
	}
	base := schema.BaseKey{Type: schema.Event, Name: entity}
	entry, err := r.shards.Read(ctx, base.String())
	if err != nil {
		return nil, describe(err)
	}
	if entry.Forgot(from) {
		return nil, describe(fmt.Errorf("the shard counts before %s are no longer known: use that time as from", entry.History[0].At.Format(time.RFC3339)))
	}
	var list []Result
	for _, p := range periodsOf(entry.History, from, to) {
		found, err := r.countPeriod(ctx, base, p, entry.Most(), now)
		if err != nil {
			return nil, describe(err)
		}
		list = append(list, found)
	}
	return list, nil
}

// period is a range of time with one shard count.
type period struct {
	from, to time.Time
	count    int
}

// periodsOf divides a range of time at the changes of the shard count.
func periodsOf(h shard.History, from, to time.Time) []period {
	list := []period{{from, to, h.At(from)}}
	for _, c := range h {
		last := &list[len(list)-1]
		if !c.At.After(from) || !c.At.Before(to) || c.Count == last.count {
			continue
		}
		last.to = c.At
		list = append(list, period{c.At, to, c.Count})
	}
	return list
}

// countPeriod counts an entity's events of a period on the write shards 0 to most-1.
func (r *Reader) countPeriod(ctx context.Context, base schema.BaseKey, p period, most int, now time.Time) (Result, error) {
	var queries []countQuery
	for day := p.from.Truncate(wholeDay); day.Before(p.to); day = day.Add(wholeDay) {
		for n := range most {
			queries = append(queries, countQuery{n, &dynamodb.QueryInput{
				TableName:              &r.table,
				KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"), // no sort key equals a bound
				ExpressionAttributeValues: dynamo.Item{
					":pk":   dynamo.String(schema.Key{Base: base, Bucket: schema.EventBucket.Label(day), Shard: n}.String()),
					":low":  dynamo.String(schema.EventBound(p.from)),
					":high": dynamo.String(schema.EventBound(p.to)),
				},
			}})
		}
	}
	counts, err := r.count(ctx, queries, most, now)
	if err != nil {
		return Result{}, err
	}
	found := spreadOver(counts, p.count)
	found.From, found.To = p.from, p.to
	return found, nil
}

// Sessions counts a group's active sessions by write shard, in the index. A session's write
// shard follows from the count at its last write.
func (r *Reader) Sessions(ctx context.Context, group string, now time.Time) (Result, error) {
	spread, err := r.countCurrent(ctx, schema.BaseKey{Type: schema.Session, Name: group}, now, func(n int) *dynamodb.QueryInput {
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

// Board counts a period's entries by write shard, in the index. An entry's write shard follows
// from the count at its last write.
func (r *Reader) Board(ctx context.Context, board, label string, now time.Time) (Result, error) {
	spread, err := r.countCurrent(ctx, schema.BaseKey{Type: schema.Board, Name: board}, now, func(n int) *dynamodb.QueryInput {
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

// countCurrent counts a key's current items on each of its write shards. query returns the query of write shard n.
func (r *Reader) countCurrent(ctx context.Context, base schema.BaseKey, now time.Time, query func(n int) *dynamodb.QueryInput) (Result, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(r.client, r.shards, base.Name)); err != nil {
		return Result{}, err
	}
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

// spreadOver returns the spread over the first n write shards; items on other write shards are strays.
func spreadOver(counts []int64, n int) Result {
	result := Result{Spread: shard.SpreadOf(counts[:n])}
	for _, strays := range counts[n:] {
		result.Strays += strays
	}
	return result
}

// countQuery counts the items of one write shard.
type countQuery struct {
	shard int
	input *dynamodb.QueryInput
}

// count makes the queries in parallel, and returns the number of items by write shard. It leaves expired items out of a
// query without a filter.
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
