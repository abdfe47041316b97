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
	reader *Reader
	board  string
	label  string
	now    time.Time
	shards int                  // the most write shards that the board ever had
	seen   map[string]*indexRow // the newest row of each player
}

// indexRow is a player's row as read from the index.
type indexRow struct {
	Place
	rev      int64
	in       *rankRange // the range that has the row; nil for a player whom the scan leaves out
	replaced bool       // a newer row of the player was read
}

// newScan returns a scan of a board's period. It costs 1 RCU, for the shard count.
func (l *Reader) newScan(ctx context.Context, board, label string, now time.Time) (*boardScan, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards, board, label)); err != nil {
		return nil, err
	}
	entry, err := l.shards.Read(ctx, Key(board))
	if err != nil {
		return nil, fmt.Errorf("reading the shard count of board %q: %w", board, err)
	}
	return &boardScan{reader: l, board: board, label: label, now: now, shards: entry.Most(), seen: map[string]*indexRow{}}, nil
}

// describe adds to an error what was read, the board and the period; nil stays nil.
func (s *boardScan) describe(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the %s of board %q, period %s: %w", what, s.board, s.label, err)
}

// streams returns a stream for each write shard, of its rows with rank keys from low to high, both included. The pages
// are sized for n places on all write shards together.
func (s *boardScan) streams(low, high string, n int, desc bool) []*dynamo.Stream {
	list := make([]*dynamo.Stream, s.shards)
	isExpired := func(it dynamo.Item) bool { return dynamo.Expired(it, s.now) }
	for i := range list {
		list[i] = &dynamo.Stream{Client: s.reader.client, SortKey: schema.RankKey, Drop: isExpired, Input: &dynamodb.QueryInput{
			TableName: &s.reader.table, IndexName: aws.String(schema.ByRank),
			KeyConditionExpression: aws.String("board_shard = :shard AND rank_key BETWEEN :low AND :high"),
			ProjectionExpression:   aws.String("rank_key, row_rev, expires_at"),
			ExpressionAttributeValues: dynamo.Item{
				":shard": dynamo.String(schema.BoardShardKey(s.board, s.label, i)),
				":low":   dynamo.String(low),
				":high":  dynamo.String(high),
			},
			ScanIndexForward: aws.Bool(!desc),
			Limit:            aws.Int32(dynamo.PageSize(n, s.shards)),
		}}
	}
	return list
}

// rankRange is a range of rank keys, read in one direction.
type rankRange struct {
	streams []*dynamo.Stream
	desc    bool
	merged  *dynamo.Merge
	list    []*indexRow // in the order of reading
	live    int         // rows of list that are not replaced
	ended   bool        // all rows were read
}

func (s *boardScan) newRange(low, high string, n int, desc bool) *rankRange {
	return &rankRange{streams: s.streams(low, high, n, desc), desc: desc}
}

// readRanges reads until each range has n places or is at its end. A newer row of a player replaces an older row, which
// may be in another range. That range then needs one more place.
func (s *boardScan) readRanges(ctx context.Context, n int, ranges ...*rankRange) error {
	if err := s.readFirstPages(ctx, ranges); err != nil {
		return err
	}
	for complete := false; !complete; {
		complete = true
		for _, r := range ranges {
			for r.live < n && !r.ended {
				complete = false // a row of this range may replace a row of another range
				if err := s.readNext(ctx, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readFirstPages reads the first page of each stream of all ranges, in parallel.
func (s *boardScan) readFirstPages(ctx context.Context, ranges []*rankRange) (err error) {
	var all []*dynamo.Stream
	for _, r := range ranges {
		all = append(all, r.streams...)
	}
	if err := dynamo.FillAll(ctx, all); err != nil {
		return err
	}
	for _, r := range ranges {
		if r.merged, err = dynamo.NewMerge(ctx, r.streams, r.desc); err != nil {
			return err
		}
	}
	return nil
}

// readNext reads the next row of a range, or sets ended.
func (s *boardScan) readNext(ctx context.Context, r *rankRange) error {
	it, err := r.merged.Next(ctx)
	if err != nil {
		return err
	}
	if it == nil {
		r.ended = true
		return nil
	}
	s.addRow(it, r)
	return nil
}

// addRow adds a row of the index to a range. It ignores a damaged row, and a row that is not newer than the row of the
// same player that was read before.
func (s *boardScan) addRow(it dynamo.Item, r *rankRange) {
	place, err := ParseRankKey(dynamo.Text(it, schema.RankKey))
	if err != nil {
		return
	}
	rev, err := dynamo.Integer(it, schema.EntryRowRev)
	if err != nil {
		return
	}
	older := s.seen[place.Player]
	if older != nil && older.rev >= rev {
		return
	}
	if older != nil {
		older.replaced = true
		older.in.live--
	}
	found := &indexRow{Place: place, rev: rev, in: r}
	s.seen[place.Player] = found
	r.list = append(r.list, found)
	r.live++
}

// places returns the first n places that were read, in rank order.
func (r *rankRange) places(n int) []Place {
	list := make([]Place, 0, max(0, min(n, r.live)))
	for _, found := range r.list {
		if !found.replaced && len(list) < n {
			list = append(list, found.Place)
		}
	}
	if r.desc {
		slices.Reverse(list)
	}
	return list
}

// countPlayers counts the players with rank keys from low to high, both included, page by page over all write shards in
// parallel. It stops when it has counted limit players or more; more reports whether rows may be left.
func (s *boardScan) countPlayers(ctx context.Context, low, high string, limit int) (n int, more bool, err error) {
	all := &rankRange{}
	open := s.streams(low, high, limit, false)
	for all.live < limit && len(open) > 0 {
		if err := dynamo.FillAll(ctx, open); err != nil {
			return 0, false, err
		}
		for _, stream := range open {
			for _, it := range stream.Buf {
				s.addRow(it, all)
			}
			stream.Buf = nil
		}
		open = slices.DeleteFunc(open, func(stream *dynamo.Stream) bool { return stream.Done })
	}
	return all.live, len(open) > 0, nil
}
