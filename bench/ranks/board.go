package ranks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

const period = "all"

// largeBoard is a board whose summaries are stored for all players.
type largeBoard struct {
	client *dynamodb.Client
	names  schema.Names
	now    time.Time
	places []boards.Place // of all players, the best first
}

// put stores a summary, last folded now.
func (b largeBoard) put(ctx context.Context, pk, sk string, summary dynamo.Item) error {
	item := dynamo.Key(pk, sk)
	item[schema.AsOf] = dynamo.Number(b.now.UnixMilli())
	for name, value := range summary {
		item[name] = value
	}
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.names.Rollups, Item: item})
	return err
}

// histogram returns the histogram of every n-th player from the first given index on.
func (b largeBoard) histogram(first, n int) (h parts.Histogram) {
	for i := first; i < len(b.places); i += n {
		h.AddMerit(b.places[i].Merit(), 1)
	}
	h.Limit(parts.MaxCells)
	return h
}

// putHistogram stores the histogram in n fragments.
func (b largeBoard) putHistogram(ctx context.Context, n int) error {
	partitions := schema.HistogramPartitions(board, period)
	for i := range n {
		sk := fmt.Sprint(schema.HistogramPrefix, "stream-shard-", i)
		if err := b.put(ctx, partitions[i%len(partitions)], sk, b.histogram(i, n).Attributes()); err != nil {
			return err
		}
	}
	return nil
}

// putTop stores the top.
func (b largeBoard) putTop(ctx context.Context) error {
	top := parts.NewTop()
	for i, p := range b.places[:topSize+1] {
		top.FoldEntry(parts.EntryState{Place: p, Rev: int64(i + 1), Present: true})
	}
	top.Trim(topSize)
	pk, sk := schema.BoardRollupKey(board, period), schema.TopSK
	return b.put(ctx, pk, sk, dynamo.Item{
		schema.Version:   dynamo.Decimal(schema.BoardVersion),
		schema.TopPlaces: &types.AttributeValueMemberB{Value: top.Bytes()},
		schema.TopWhole:  &types.AttributeValueMemberBOOL{Value: top.Whole()},
	})
}

// putEntries configures the board, and submits the scores of the entries that the calls read.
func (b largeBoard) putEntries(ctx context.Context) error {
	m := shardmap.New(b.client, b.names.ShardMap, shardmap.Options{})
	submitted := boards.New(b.client, b.names.Items, m, boards.Options{})
	if err := submitted.Configure(ctx, board, boards.Settings{Mode: boards.Best}); err != nil {
		return err
	}
	for chunk := range slices.Chunk(b.readScores(), 500) {
		if err := errors.Join(submitted.Submit(ctx, board, chunk, b.now)...); err != nil {
			return err
		}
	}
	return nil
}

// readScores returns the scores of the entries that the calls read, each once.
func (b largeBoard) readScores() (scores []boards.PlayerScore) {
	all, last := b.histogram(0, 1), 0
	add := func(from, to int) {
		for ; last < min(to, len(b.places)); last++ {
			if last >= from {
				scores = append(scores, boards.PlayerScore{Player: b.places[last].Player, Score: b.places[last].Score})
			}
		}
	}
	add(0, counted)
	for _, rank := range ranksRead {
		if rank > len(b.places) {
			break
		}
		cell := all.Locate(b.places[rank-1].Merit())
		if cell.Own <= counted {
			add(int(cell.Above), max(int(cell.Above+cell.Own), rank+nearby))
		} else {
			add(rank-1-nearby, rank+nearby)
		}
	}
	return scores
}
