package boards

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// newestRev is beyond every rev.
const newestRev = math.MaxInt64

// boardScan reads a board's period from the index. The shard map is read
// consistently, since an entry may be on a write shard that the process's view
// does not know of yet.
type boardScan struct {
	l     *Reader
	board string
	label string
	now   time.Time
	most  int                 // write shards that the board ever had
	seen  map[string]*sighted // by player
}

// sighted is a player's entry as the index has it, or had it.
type sighted struct {
	Place
	rev  int64
	side *side // nil for a player who isn't wanted
	gone bool  // seen again, and newer
}

func (l *Reader) scan(ctx context.Context, board, label string, now time.Time) (*boardScan, error) {
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

// streams returns one for each write shard, of the keys from low to high, both
// included, with pages for n places in all.
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

// side is one direction in which a scan goes.
type side struct {
	streams []*dynamo.Stream
	desc    bool
	merged  *dynamo.Merge
	list    []*sighted // nearest first
	live    int        // of list, those not gone
	ended   bool
}

func (s *boardScan) side(low, high string, n int, desc bool) *side {
	return &side{streams: s.streams(low, high, n, desc), desc: desc}
}

// read goes on until each side has n places or is at its end. A player who is
// seen on a second place, on either side, may take one away again.
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

// start reads the first pages of all sides in parallel.
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

// step takes in the next place of a side.
func (s *boardScan) step(ctx context.Context, to *side) error {
	it, err := to.merged.Next(ctx)
	if err != nil {
		return err
	}
	if it == nil {
		to.ended = true
		return nil
	}
	s.take(it, to)
	return nil
}

// take takes in an item of the index, unless a newer state of the same entry was
// seen. A damaged one has no place.
func (s *boardScan) take(it dynamo.Item, to *side) {
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

// count reads page by page of all write shards in parallel, in no order, until
// they are at their end or limit players were seen.
func (s *boardScan) count(ctx context.Context, low, high string, limit int) (n int, more bool, err error) {
	all := &side{}
	open := s.streams(low, high, limit, false)
	for all.live < limit && len(open) > 0 {
		if err := dynamo.FillAll(ctx, open); err != nil {
			return 0, false, err
		}
		for _, from := range open {
			for _, it := range from.Buf {
				s.take(it, all)
			}
			from.Buf = nil
		}
		open = slices.DeleteFunc(open, func(from *dynamo.Stream) bool { return from.Done })
	}
	return all.live, len(open) > 0, nil
}
