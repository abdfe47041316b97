package ddb

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/schema"
)

// BoardEntry is a player's entry: the place, and the number that every write of
// it raises, which tells older states of it from newer ones.
type BoardEntry struct {
	Place
	Rev int64
}

// BoardReader is the part of [Leaderboards] that reads entries and rankings.
type BoardReader struct {
	client BoardReaderClient
	table  string
	shards *Map
}

// NewBoardReader returns a BoardReader over the items table.
func NewBoardReader(client BoardReaderClient, table string, shards *Map) *BoardReader {
	return &BoardReader{client: client, table: table, shards: shards}
}

// Entry reads a player's entry in a period, consistently: its place, and its rev,
// which tells older states of it from newer ones. A player without one is an
// error of kind ErrNotFound. It costs one read unit.
func (l *BoardReader) Entry(ctx context.Context, board, label, player string, now time.Time) (Place, int64, error) {
	found, err := l.Entries(ctx, board, label, []string{player}, now)
	if err != nil {
		return Place{}, 0, err
	}
	e, ok := found[player]
	if !ok {
		return Place{}, 0, fmt.Errorf("player %q on board %q, period %s: %w", player, board, label, ErrNotFound)
	}
	return e.Place, e.Rev, nil
}

// Entries reads the entries of players in a period, each player named once,
// consistently. Players without one are left out. Each player costs one read unit.
func (l *BoardReader) Entries(ctx context.Context, board, label string, players []string, now time.Time) (map[string]BoardEntry, error) {
	keys := make([]item, len(players))
	for i, player := range players {
		keys[i] = itemKey(schema.EntryKey(board, label, player))
	}
	items, err := batchGet(ctx, l.client, l.table, keys, true)
	if err != nil {
		return nil, fmt.Errorf("reading entries of board %q, period %s: %w", board, label, err)
	}
	found := make(map[string]BoardEntry, len(items))
	for _, it := range items {
		if expired(it, now) {
			continue
		}
		e, err := parseBoardEntry(it)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", text(it, schema.PK), err)
		}
		found[e.Player] = BoardEntry{e.Place, e.rev}
	}
	return found, nil
}

// Top reads the first n places of a period from the index, in rank order. It
// costs half a read unit for each 4 KB that it reads on each write shard.
func (l *BoardReader) Top(ctx context.Context, board, label string, n int, now time.Time) ([]Place, error) {
	scan, err := l.scan(ctx, board, label, now)
	if err != nil {
		return nil, err
	}
	all := scan.side(firstKey, lastKey, n, false)
	if err := scan.read(ctx, n, all); err != nil {
		return nil, scan.fault("top", err)
	}
	return all.places(n), nil
}

// Around reads the n places of other players before a place and the n after it,
// from the index, both in rank order.
func (l *BoardReader) Around(ctx context.Context, board, label string, of Place, n int, now time.Time) (above, below []Place, err error) {
	scan, err := l.scan(ctx, board, label, now)
	if err != nil {
		return nil, nil, err
	}
	scan.seen[of.Player] = &sighted{rev: newestRev}
	before, after := scan.side(firstKey, of.RankKey(), n, true), scan.side(of.RankKey(), lastKey, n, false)
	if err := scan.read(ctx, n, before, after); err != nil {
		return nil, nil, scan.fault("neighbours", err)
	}
	return before.places(n), after.places(n), nil
}

// Count counts the players of a period whose rank keys are from fromRankKey on
// and before toRankKey, without the player whose rank key toRankKey is; "" is the
// begin, or the end. It stops once it has seen limit of them: then more tells
// that there may be further ones. It reads the index, in parallel.
func (l *BoardReader) Count(ctx context.Context, board, label, fromRankKey, toRankKey string, limit int, now time.Time) (n int, more bool, err error) {
	from, to := max(fromRankKey, firstKey), toRankKey
	if to == "" {
		to = lastKey
	}
	if from >= to {
		return 0, false, nil
	}
	scan, err := l.scan(ctx, board, label, now)
	if err != nil {
		return 0, false, err
	}
	if self, err := schema.ParseRankKey(to); err == nil {
		scan.seen[self.Player] = &sighted{rev: newestRev}
	}
	n, more, err = scan.count(ctx, from, to, limit)
	return n, more, scan.fault("count", err)
}
