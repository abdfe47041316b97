package boards

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// DamagedEntries is the error of a read that found unreadable entries: for each player, why the entry
// can't be read. The other entries were read.
type DamagedEntries map[string]error

// Error names the first damaged entry by player.
func (d DamagedEntries) Error() string {
	for _, player := range slices.Sorted(maps.Keys(d)) {
		return fmt.Sprintf("%d entries can't be read, one of them of player %q: %v", len(d), player, d[player])
	}
	return "all entries can be read"
}

// Reader is the part of [Boards] that reads entries and rankings. A label names a period: see [Period.Label].
type Reader struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(client ReaderClient, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: client, table: table, shards: shards}
}

// Entry returns a player's entry in a period, strongly consistent, or an error that wraps ErrNotFound. It costs 1 RCU.
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

// Entries returns the entries of players in a period, by player, read strongly consistent. Name each
// player once. Players without an entry are not in the result. If entries can't be read, Entries returns the
// others with a DamagedEntries error. Each player costs 1 RCU.
func (l *Reader) Entries(ctx context.Context, board, label string, players []string, now time.Time) (found map[string]Entry, err error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards, append([]string{board, label}, players...)...)); err != nil {
		return nil, err
	}
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
		entry, err := ParseEntry(it)
		if err != nil {
			damaged[player] = err
			continue
		}
		found[player] = entry
	}
	if len(damaged) > 0 {
		return found, fmt.Errorf("reading entries of board %q, period %s: %w", board, label, damaged)
	}
	return found, nil
}

// Top returns the first n places of a period from the index, in rank order. It costs 1 RCU for the shard count, and 0.5
// RCU per 4 KB read on each write shard. If n is 0 or less, Top reads nothing. If there is no place, Top also reads the
// board's settings; its error wraps ErrNotFound for a board without settings and scores.
func (l *Reader) Top(ctx context.Context, board, label string, n int, now time.Time) ([]Place, error) {
	if n <= 0 {
		return nil, nil
	}
	scan, err := l.newScan(ctx, board, label, now)
	if err != nil {
		return nil, err
	}
	all := scan.newRange(schema.FirstRankKey, schema.LastRankKey, n, false)
	if err := scan.readRanges(ctx, n, all); err != nil {
		return nil, scan.describe("top", err)
	}
	places := all.places(n)
	if len(places) > 0 {
		return places, nil
	}
	settings, err := l.readSettings(ctx, board)
	switch {
	case err != nil:
		return nil, scan.describe("top", err)
	case settings == nil:
		return nil, scan.describe("top", shard.ErrNotFound)
	}
	return nil, nil
}

// Around returns up to n places above a place and n below it, from the index, in rank order and without the place
// itself. If n is 0 or less, it returns none.
func (l *Reader) Around(ctx context.Context, board, label string, place Place, n int, now time.Time) (above, below []Place, err error) {
	if n <= 0 {
		return nil, nil, nil
	}
	scan, err := l.newScan(ctx, board, label, now)
	if err != nil {
		return nil, nil, err
	}
	scan.seen[place.Player] = &indexRow{rev: newestRev} // ignore that player's own rows
	before := scan.newRange(schema.FirstRankKey, place.RankKey(), n, true)
	after := scan.newRange(place.RankKey(), schema.LastRankKey, n, false)
	if err := scan.readRanges(ctx, n, before, after); err != nil {
		return nil, nil, scan.describe("neighbours", err)
	}
	return before.places(n), after.places(n), nil
}

// Count returns the number of players of a period with fromRankKey <= rank key < toRankKey; "" means no bound. It does
// not count the player of toRankKey, even if the index still has an older row of that player. Count stops once n is
// limit or more; more reports whether there may be further players.
func (l *Reader) Count(ctx context.Context, board, label, fromRankKey, toRankKey string, limit int, now time.Time) (n int, more bool, err error) {
	from, to := max(fromRankKey, schema.FirstRankKey), toRankKey
	if to == "" {
		to = schema.LastRankKey
	}
	if from >= to {
		return 0, false, nil
	}
	scan, err := l.newScan(ctx, board, label, now)
	if err != nil {
		return 0, false, err
	}
	if end, err := ParseRankKey(to); err == nil {
		scan.seen[end.Player] = &indexRow{rev: newestRev} // ignore that player's own rows
	}
	n, more, err = scan.countPlayers(ctx, from, to, limit)
	return n, more, scan.describe("count", err)
}
