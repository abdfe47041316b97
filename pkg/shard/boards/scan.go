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
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
)

// newestRev is above every rev.
const newestRev = math.MaxInt64

// boardScan reads a board's period from the index. The shard count comes from a strongly consistent
// read of the shard map, since the process's cached count may be too small.
type boardScan struct {
	l     *Reader
	board string
	label string
	now   time.Time
	most  int                 // the most write shards that the board ever had
	seen  map[string]*sighted // by player
}

// sighted is a player's row as read from the index.
type sighted struct {
	Place
	rev  int64
	side *side // nil for a player that the scan does not return
	gone bool  // replaced by a newer row of the player
}

func (l *Reader) newScan(ctx context.Context, board, label string, now time.Time) (*boardScan, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards, board, label)); err != nil {
		return nil, err
	}
	entry, err := l.shards.Read(ctx, Key(board))
	if err != nil {
		return nil, fmt.Errorf("reading board %q: %w", board, err)
	}
	return &boardScan{l: l, board: board, label: label, now: now, most: entry.Most(), seen: map[string]*sighted{}}, nil
}

// describe adds the board and the period to an error of reading what.
func (s *boardScan) describe(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the %s of board %q, period %s: %w", what, s.board, s.label, err)
}

// streams returns a stream for each write shard, of the rank keys from low to high, both included. Its
// pages are sized for n places on all write shards together.
func (s *boardScan) streams(low, high string, n int, desc bool) []*dynamo.Stream {
	list := make([]*dynamo.Stream, s.most)
	for i := range list {
		list[i] = &dynamo.Stream{Client: s.l.client, Sort: schema.RankKey, Drop: s.expired, Input: &dynamodb.QueryInput{
			TableName: &s.l.table, IndexName: aws.String(schema.ByRank),
			KeyConditionExpression: aws.String("board_shard = :shard AND rank_key BETWEEN :low AND :high"),
			ProjectionExpression:   aws.String("rank_key, row_rev, expires_at"),
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

// readSides reads until each side has n places or is at its end. A newer row of a player, on either
// side, removes the older one, so that side may need more places.
func (s *boardScan) readSides(ctx context.Context, n int, sides ...*side) error {
	if err := s.readFirstPages(ctx, sides); err != nil {
		return err
	}
	for short := true; short; {
		short = false
		for _, side := range sides {
			for side.live < n && !side.ended {
				short = true
				if err := s.readNext(ctx, side); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readFirstPages reads the first page of each stream of all sides, in parallel.
func (s *boardScan) readFirstPages(ctx context.Context, sides []*side) (err error) {
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

func (s *boardScan) readNext(ctx context.Context, to *side) error {
	it, err := to.merged.Next(ctx)
	if err != nil {
		return err
	}
	if it == nil {
		to.ended = true
		return nil
	}
	s.addRow(it, to)
	return nil
}

// addRow adds a row of the index to a side, unless a newer row of the same player was read. It ignores
// a damaged row.
func (s *boardScan) addRow(it dynamo.Item, to *side) {
	place, err := ParseRankKey(dynamo.Text(it, schema.RankKey))
	if err != nil {
		return
	}
	rev, err := dynamo.Integer(it, schema.EntryRowRev)
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

// countPlayers counts the players of a range of rank keys, page by page over all write shards in
// parallel. It stops when it has counted limit players or more; more reports whether rows may be left.
func (s *boardScan) countPlayers(ctx context.Context, low, high string, limit int) (n int, more bool, err error) {
	all := &side{}
	open := s.streams(low, high, limit, false)
	for all.live < limit && len(open) > 0 {
		if err := dynamo.FillAll(ctx, open); err != nil {
			return 0, false, err
		}
		for _, from := range open {
			for _, it := range from.Buf {
				s.addRow(it, all)
			}
			from.Buf = nil
		}
		open = slices.DeleteFunc(open, func(from *dynamo.Stream) bool { return from.Done })
	}
	return all.live, len(open) > 0, nil
}
