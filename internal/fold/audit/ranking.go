package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/marks"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// ranking is what the index has of a board's period.
type ranking struct {
	n       int64
	cells   board.Histogram
	first   []boards.Place // by rank
	players []string       // some of them, from all write shards
	digest  uint64         // of all places, independent of their order
	expires int64          // latest expiry, Unix seconds; 0 if any entry never expires, or there is none
	soonest int64          // earliest expiry; 0 if none expires
	fault   error          // why one of the entries can't be read
}

// same reports whether two readings have the same places.
func (r *ranking) same(other *ranking) bool {
	return r.fault == nil && other.fault == nil && r.n == other.n && r.digest == other.digest && r.cells.Same(other.cells)
}

// readRanking reads all places of a board's period from the index, and keeps the first ones.
func (p *period) readRanking(ctx context.Context, first int) (*ranking, error) {
	most, err := p.mostShards(ctx, schema.BaseKey{Type: kind.Board, Name: p.Board})
	if err != nil {
		return nil, err
	}
	all := &ranking{}
	var mu sync.Mutex
	return all, eachOf(ctx, most, func(ctx context.Context, n int) error {
		in := &dynamodb.QueryInput{
			TableName: &p.o.Names.Items, IndexName: aws.String(schema.ByRank), KeyConditionExpression: aws.String("board_shard = :shard"),
			ExpressionAttributeValues: item{":shard": dynamo.String(schema.BoardShardKey(p.Board, p.Label, n))},
		}
		own := 0 // players sampled from this write shard
		for page, err := range dynamo.Pages(ctx, p.client, in) {
			if err != nil {
				return fmt.Errorf("reading the entries of board %q, period %s: %w", p.Board, p.Label, err)
			}
			mu.Lock()
			for _, it := range page.Items {
				player, ok := all.addItem(it)
				if ok && own <= marks.MaxOwn/most {
					all.players = append(all.players, player)
					own++
				}
			}
			slices.SortFunc(all.first, board.Compare)
			all.first = all.first[:min(first, len(all.first))]
			all.cells.Limit(board.MaxCells)
			mu.Unlock()
		}
		return nil
	})
}

// addItem adds an item of the index, and returns its player. It ignores probes.
func (r *ranking) addItem(it item) (player string, ok bool) {
	_, _, player, entry := schema.ParseEntryKey(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
	if !entry {
		return "", false
	}
	place, expires, err := placeIn(it, player)
	if err != nil {
		r.fault = cmp.Or(r.fault, fmt.Errorf("the entry %q: %w", dynamo.Text(it, schema.PK), err))
		return "", false
	}
	r.n++
	r.first = append(r.first, place)
	r.cells.AddScore(place.Score, 1)
	r.digest += digestOf(place.RankKey())
	if r.n == 1 || r.expires != 0 && (expires == 0 || expires > r.expires) {
		r.expires = expires
	}
	r.soonest = sooner(r.soonest, expires)
	return player, true
}

// digestOf returns a number that is practically unique to a text. The sum of digests identifies a
// set of texts, whatever their order.
func digestOf(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}

// placeIn returns the place of an entry. Folds use its score, and readers of the index its rank
// key, so both must agree.
func placeIn(it item, player string) (p boards.Place, expires int64, err error) {
	if p, err = boards.ParseRankKey(dynamo.Text(it, schema.RankKey)); err != nil {
		return p, 0, err
	}
	score, err := boards.ParseScore(dynamo.Digits(it, schema.EntryScore))
	switch {
	case err != nil:
		return p, 0, fmt.Errorf("its score: %w", err)
	case p.Player != player || score != p.Score || dynamo.Digits(it, schema.EntryAt) != strconv.FormatInt(p.At.UnixMilli(), 10):
		return p, 0, errors.New("its rank key is not that of its player, score and time")
	case dynamo.Digits(it, schema.EntryRev) == "":
		return p, 0, errors.New("it has no rev")
	}
	if it[schema.ExpiresAt] != nil {
		expires, err = strconv.ParseInt(dynamo.Digits(it, schema.ExpiresAt), 10, 64)
	}
	return p, expires, err
}
