package boards

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// DamagedEntries is the error of a reading of entries some of which have a form that
// can't be read: why, by player. The others were read.
type DamagedEntries map[string]error

// Error names the first of them by name.
func (d DamagedEntries) Error() string {
	for _, player := range slices.Sorted(maps.Keys(d)) {
		return fmt.Sprintf("%d entries can't be read, one of them of player %q: %v", len(d), player, d[player])
	}
	return "all entries can be read"
}

// Reader is the part of [Boards] that reads entries and rankings.
type Reader struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(client ReaderClient, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: client, table: table, shards: shards}
}

// Entry reads a player's entry in a period, consistently. A player without one is an
// error of kind ErrNotFound. It costs one read unit.
func (l *Reader) Entry(ctx context.Context, board, label, player string, now time.Time) (Entry, error) {
	found, err := l.Entries(ctx, board, label, []string{player}, now)
	if err != nil {
		return Entry{}, err
	}
	e, ok := found[player]
	if !ok {
		return Entry{}, fmt.Errorf("player %q on board %q, period %s: %w", player, board, label, shard.ErrNotFound)
	}
	return e, nil
}

// Entries reads the entries of players in a period, each player named once,
// consistently. Players without one are left out. So are those whose entries can't
// be read, which a DamagedEntries then names; found has the others also with that
// error. Each player costs one read unit.
func (l *Reader) Entries(ctx context.Context, board, label string, players []string, now time.Time) (found map[string]Entry, err error) {
	keys := make([]dynamo.Item, len(players))
	for i, player := range players {
		keys[i] = dynamo.Key(schema.EntryKey(board, label, player))
	}
	items, err := dynamo.BatchGet(ctx, l.client, l.table, keys, true)
	if err != nil {
		return nil, fmt.Errorf("reading entries of board %q, period %s: %w", board, label, err)
	}
	found = make(map[string]Entry, len(items))
	damaged := DamagedEntries{}
	for _, it := range items {
		if dynamo.Expired(it, now) {
			continue
		}
		_, _, player, _ := schema.ParseEntryKey(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		if found[player], err = readEntry(it, player); err != nil {
			delete(found, player)
			damaged[player] = err
		}
	}
	if len(damaged) > 0 {
		return found, fmt.Errorf("reading entries of board %q, period %s: %w", board, label, damaged)
	}
	return found, nil
}

// readEntry reads the item of a player's entry.
func readEntry(it dynamo.Item, player string) (Entry, error) {
	e, err := parseEntry(it)
	if err == nil && e.Player != player {
		err = fmt.Errorf("its rank key is of player %q", e.Player)
	}
	if err != nil || it[schema.ExpiresAt] == nil {
		return e, err
	}
	seconds, err := dynamo.Integer(it, schema.ExpiresAt)
	e.Expires = time.Unix(seconds, 0)
	return e, err
}

// Top reads the first n places of a period from the index, in rank order. It
// costs half a read unit for each 4 KB that it reads on each write shard. With 0 or
// less it reads nothing, and there are none.
func (l *Reader) Top(ctx context.Context, board, label string, n int, now time.Time) ([]Place, error) {
	if n <= 0 {
		return nil, nil
	}
	scan, err := l.scan(ctx, board, label, now)
	if err != nil {
		return nil, err
	}
	all := scan.side(schema.FirstRankKey, schema.LastRankKey, n, false)
	if err := scan.read(ctx, n, all); err != nil {
		return nil, scan.fault("top", err)
	}
	return all.places(n), nil
}

// Around reads the n places of other players before a place and the n after it,
// from the index, both in rank order: none with 0 or less.
func (l *Reader) Around(ctx context.Context, board, label string, of Place, n int, now time.Time) (above, below []Place, err error) {
	if n <= 0 {
		return nil, nil, nil
	}
	scan, err := l.scan(ctx, board, label, now)
	if err != nil {
		return nil, nil, err
	}
	scan.seen[of.Player] = &sighted{rev: newestRev}
	before, after := scan.side(schema.FirstRankKey, of.RankKey(), n, true), scan.side(of.RankKey(), schema.LastRankKey, n, false)
	if err := scan.read(ctx, n, before, after); err != nil {
		return nil, nil, scan.fault("neighbours", err)
	}
	return before.places(n), after.places(n), nil
}

// Count counts the players of a period whose rank keys are from fromRankKey on
// and before toRankKey, without the player whose rank key toRankKey is; "" is the
// begin, or the end. It stops once it has seen limit of them: then more tells
// that there may be further ones. It reads the index, in parallel.
func (l *Reader) Count(ctx context.Context, board, label, fromRankKey, toRankKey string, limit int, now time.Time) (n int, more bool, err error) {
	from, to := max(fromRankKey, schema.FirstRankKey), toRankKey
	if to == "" {
		to = schema.LastRankKey
	}
	if from >= to {
		return 0, false, nil
	}
	scan, err := l.scan(ctx, board, label, now)
	if err != nil {
		return 0, false, err
	}
	if self, err := ParseRankKey(to); err == nil {
		scan.seen[self.Player] = &sighted{rev: newestRev}
	}
	n, more, err = scan.count(ctx, from, to, limit)
	return n, more, scan.fault("count", err)
}
