package fold

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// compare holds the summaries against the entries.
func (a *arena) compare() {
	top, all := a.top(), a.ranked()
	held := top.Entries()
	if len(held) < min(a.size, len(all)) || top.Whole() && len(held) != len(all) {
		a.t.Fatalf("%d held of %d, size %d, whole: %t", len(held), len(all), a.size, top.Whole())
	}
	for i, e := range held {
		if e.Place != all[i] || e.Rev != a.entries[e.Player].Rev {
			a.t.Fatalf("rank %d is %+v, want %+v", i+1, e, a.entries[all[i].Player])
		}
	}
	cells := a.cells()
	if cells.Total() != int64(len(all)) {
		a.t.Fatalf("%d entries counted, want %d", cells.Total(), len(all))
	}
	for i, p := range all {
		rank, margin := cells.Locate(p.Score).Rank()
		if off := rank - int64(i+1); max(off, -off) > margin {
			a.t.Fatalf("%+v: rank %d +- %d, want %d", p, rank, margin, i+1)
		}
	}
}

func (a *arena) top() storedTop {
	h := a.containers[0]
	top, err := h.tops.load(context.Background(), &boardNews{Period: parts.Period{Board: a.name, Label: "all"}})
	if err != nil {
		a.t.Fatal(err)
	}
	return top
}

// cells merges the parts of all stream shards.
func (a *arena) cells() (all board.Histogram) {
	out, err := a.db.Query(context.Background(), &dynamodb.QueryInput{
		TableName: &a.names.Rollups, KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :part)"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":   &types.AttributeValueMemberS{Value: schema.BoardRollupKey(a.name, "all")},
			":part": &types.AttributeValueMemberS{Value: schema.HistogramPrefix},
		},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, item := range out.Items {
		part, err := board.StoredHistogram(item)
		if err != nil {
			a.t.Fatal(err)
		}
		all.Merge(part)
	}
	return all
}
