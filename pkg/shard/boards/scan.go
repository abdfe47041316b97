package boards

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/internal/given"
)

// newestRev is above every rev.
const newestRev = math.MaxInt64

// boardScan reads a board's period from the index. It reads the shard map strongly consistent,
// since an entry may be on a write shard that the process's view does not have yet.
type boardScan struct {
	l     *Reader
	board string
	label string
	now   time.Time
	most  int                 // the most write shards that the board ever had
	seen  map[string]*sighted // by player
}

// sighted is a player's entry as read from the index.
type sighted struct {
	Place
	rev  int64
	side *side // nil for a player that the scan does not return
	gone bool  // replaced by a newer state of the entry
}

func (l *Reader) scan(ctx context.Context, board, label string, now time.Time) (*boardScan, error) {
	if err := cmp.Or(dynamo.CheckNow(now), given.Check(l.client, l.shards, board, label)); err != nil {
		return nil, err
	}
	entry, err := l.shards.Read(ctx, Key(board))
	if err != nil {
		return nil, fmt.Errorf("reading board %q: %w", board, err)
	}
	return &boardScan{l: l, board: board, label: label, now: now, most: entry.Most(), seen: map[string]*sighted{}}, nil
}

func (s *boardScan) fault(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the %s of board %q, period %s: %w", what, s.board, s.label, err)
}

// streams returns a stream for each write shard, of the keys from low to high, both included,
// with pages for n places in all.
func (s *boardScan) streams(low, high string, n int, desc bool) []*dynamo.Stream {
	list := make([]*dynamo.Stream, s.most)
	for i := range list {
		list[i] = &dynamo.Stream{Client: s.l.client, Sort: schema.RankKey, Drop: s.expired, Input: &dynamodb.QueryInput{
			TableName: &s.l.table, IndexName: aws.String(schema.ByRank),
			KeyConditionExpression: aws.String("board_shard = :shard AND rank_key BETWEEN :low AND :high"),
			ProjectionExpression:   aws.String("rank_key, rev, expires_at"),
			ExpressionAttributeValues: dynamo.Item{
				":shard": dynamo.String(schema.BoardShardKey(s.board, s.label, i)),
				":low":   dynamo.String(low),
				":high":  dynamo.String(high),
			},
			ScanIndexForward: aws.Bool(!desc),
			Limit:            aws.Int32(dynamo.PageSize(n, s.most)),
		}}
	}
	return list
}

func (s *boardScan) expired(it dynamo.Item) bool { return dynamo.Expired(it, s.now) }

// side is one direction of a scan.
type side struct {
	streams []*dynamo.Stream
	desc    bool
	merged  *dynamo.Merge
	list    []*sighted // nearest first
	live    int        // entries of list that are not gone
	ended   bool
}

func (s *boardScan) side(low, high string, n int, desc bool) *side {
	return &side{streams: s.streams(low, high, n, desc), desc: desc}
}

// read continues until each side has n places or is at its end. A newer state of a player's
// entry, on either side, removes the older one.
func (s *boardScan) read(ctx context.Context, n int, sides ...*side) error {
	if err := s.start(ctx, sides); err != nil {
		return err
	}
	for short := true; short; {
		short = false
		for _, side := range sides {
			for side.live < n && !side.ended {
				short = true
				if err := s.step(ctx, side); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// start reads the first page of all sides in parallel.
func (s *boardScan) start(ctx context.Context, sides []*side) (err error) {
	var all []*dynamo.Stream
	for _, side := range sides {
		all = append(all, side.streams...)
	}
	if err := dynamo.FillAll(ctx, all); err != nil {
		return err
	}
	for _, side := range sides {
		if side.merged, err = dynamo.NewMerge(ctx, side.streams, side.desc); err != nil {
			return err
		}
	}
	return nil
}

// step reads the next place of a side.
func (s *boardScan) step(ctx context.Context, to *side) error {
	it, err := to.merged.Next(ctx)
	if err != nil {
		return err
	}
	if it == nil {
		to.ended = true
		return nil
	}
	s.addItem(it, to)
	return nil
}

// addItem adds an item of the index, unless a newer state of the same entry was seen. A damaged
// item has no place.
func (s *boardScan) addItem(it dynamo.Item, to *side) {
	place, err := ParseRankKey(dynamo.Text(it, schema.RankKey))
	if err != nil {
		return
	}
	rev, err := dynamo.Integer(it, schema.EntryRev)
	if err != nil {
		return
	}
	before := s.seen[place.Player]
	if before != nil && before.rev >= rev {
		return
	}
	if before != nil {
		before.gone = true
		before.side.live--
	}
	found := &sighted{Place: place, rev: rev, side: to}
	s.seen[place.Player] = found
	to.list = append(to.list, found)
	to.live++
}

// places returns the nearest n places of a side, in rank order.
func (s *side) places(n int) []Place {
	list := make([]Place, 0, max(0, min(n, s.live)))
	for _, found := range s.list {
		if !found.gone && len(list) < n {
			list = append(list, found.Place)
		}
	}
	if s.desc {
		slices.Reverse(list)
	}
	return list
}

// count counts entries page by page over all write shards in parallel, in no order. It stops
// at their end, or when it has seen limit players.
func (s *boardScan) count(ctx context.Context, low, high string, limit int) (n int, more bool, err error) {
	all := &side{}
	open := s.streams(low, high, limit, false)
	for all.live < limit && len(open) > 0 {
		if err := dynamo.FillAll(ctx, open); err != nil {
			return 0, false, err
		}
		for _, from := range open {
			for _, it := range from.Buf {
				s.addItem(it, all)
			}
			from.Buf = nil
		}
		open = slices.DeleteFunc(open, func(from *dynamo.Stream) bool { return from.Done })
	}
	return all.live, len(open) > 0, nil
}
