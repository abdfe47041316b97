package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// ranking has sums of a period's entries, which are found by their rows in the index.
type ranking struct {
	count          int64
	cells          parts.Histogram
	firstPlaces    []boards.Place // by rank
	players        []string       // some of the players, from all write shards
	digest         uint64         // of all places: a sum of hashes, independent of their order
	latestExpiry   int64          // latest expiry, Unix seconds; 0 if any entry never expires, or there is none
	earliestExpiry int64          // earliest expiry; 0 if none expires
	outdated       []string       // players with outdated rows
	fault          error          // why one of the entries can't be read
}

var seed = maphash.MakeSeed()

// samePlaces reports whether two readings found the same places. It is false if an entry can't be read.
func (r *ranking) samePlaces(other *ranking) bool {
	return r.fault == nil && other.fault == nil && r.count == other.count && r.digest == other.digest && r.cells.Same(other.cells)
}

// readRanking reads all entries of a board's period. The result has the first wantedPlaces places and, from each write
// shard, some players for stream markers.
func (p *period) readRanking(ctx context.Context, wantedPlaces int) (*ranking, error) {
	entry, err := p.entryOf(ctx, schema.BaseKey{Type: schema.Board, Name: p.Board})
	if err != nil {
		return nil, err
	}
	shards := entry.Most()
	perShard := parts.MaxOwnMarkers/shards + 1
	all := &ranking{}
	var mu sync.Mutex
	return all, concurrently(ctx, shards, func(ctx context.Context, n int) error {
		in := &dynamodb.QueryInput{
			TableName: &p.o.Names.Items, IndexName: aws.String(schema.ByRank), KeyConditionExpression: aws.String("board_shard = :shard"),
			ExpressionAttributeValues: item{":shard": dynamo.String(schema.BoardShardKey(p.Board, p.Label, n))},
		}
		sampled := 0 // players sampled from this write shard
		for page, err := range dynamo.Pages(ctx, p.client, in) {
			if err != nil {
				return fmt.Errorf("reading the entries of board %q, period %s: %w", p.Board, p.Label, err)
			}
			entries, err := p.readEntries(ctx, page.Items)
			if err != nil {
				return err
			}
			mu.Lock()
			for _, it := range entries {
				player, ok := all.addItem(it)
				if ok && sampled < perShard {
					all.players = append(all.players, player)
					sampled++
				}
			}
			slices.SortFunc(all.firstPlaces, parts.ComparePlaces)
			all.firstPlaces = all.firstPlaces[:min(wantedPlaces, len(all.firstPlaces))]
			all.cells.Limit(parts.MaxCells)
			mu.Unlock()
		}
		return nil
	})
}

// readEntries returns the entries of rows in the index, by eventually consistent reads. It ignores probes.
func (p *period) readEntries(ctx context.Context, rows []item) (entries []item, err error) {
	keys := map[string]item{} // by partition key: a row that is moved may be in the index twice
	for _, it := range rows {
		pk, sk := dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)
		if _, _, _, isEntry := schema.ParseEntryKey(pk, sk); isEntry {
			keys[pk] = dynamo.Key(pk, sk)
		}
	}
	if entries, err = dynamo.BatchGet(ctx, p.client, p.o.Names.Items, slices.Collect(maps.Values(keys)), false); err != nil {
		return nil, fmt.Errorf("reading entries of board %q, period %s: %w", p.Board, p.Label, err)
	}
	return entries, nil
}

// addItem adds an entry, and returns its player. If the entry can't be read, it sets the fault, and ok is false.
func (r *ranking) addItem(it item) (player string, ok bool) {
	e, err := boards.ParseEntry(it)
	if err != nil {
		r.fault = cmp.Or(r.fault, fmt.Errorf("the entry %q: %w", dynamo.Text(it, schema.PK), err))
		return "", false
	}
	r.count++
	r.firstPlaces = append(r.firstPlaces, e.Place)
	r.cells.AddMerit(e.Merit(), 1)
	if e.Late() {
		r.cells.AddLate(1)
		r.outdated = append(r.outdated, e.Player)
	}
	r.digest += maphash.String(seed, e.RankKey())
	expires, _ := dynamo.Integer(it, schema.ExpiresAt) // 0 for never
	if r.count == 1 || r.latestExpiry != 0 && (expires == 0 || expires > r.latestExpiry) {
		r.latestExpiry = expires
	}
	r.earliestExpiry = sooner(r.earliestExpiry, expires)
	return e.Player, true
}
