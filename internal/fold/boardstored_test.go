package fold

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestItemsOfTops checks which items are a top.
func TestItemsOfTops(t *testing.T) {
	for name, row := range map[string]struct {
		attribute string
		value     types.AttributeValue
		ok        bool
	}{
		"first version":   {schema.TopVersion, dynamo.Number(1), true},
		"version 0":       {schema.TopVersion, dynamo.Number(0), false},
		"version 1.5":     {schema.TopVersion, &types.AttributeValueMemberN{Value: "1.5"}, false},
		"version of text": {schema.TopVersion, dynamo.String("1"), false},
		"no version":      {schema.TopVersion, nil, false},
		"another form":    {schema.Version, dynamo.Decimal(schema.BoardVersion + "0"), false},
		"damaged places":  {schema.TopPlaces, &types.AttributeValueMemberB{Value: []byte("x")}, false},
		"an end":          {schema.ExpiresAt, dynamo.Number(1), true},
		"an end of 1.5 s": {schema.ExpiresAt, &types.AttributeValueMemberN{Value: "1.5"}, false},
	} {
		it := dynamo.Item{
			schema.Version: dynamo.Decimal(schema.BoardVersion), schema.TopVersion: dynamo.Number(3),
			schema.TopPlaces: &types.AttributeValueMemberB{Value: parts.NewTop().Bytes()}, schema.TopWhole: &types.AttributeValueMemberBOOL{Value: true},
		}
		it[row.attribute] = row.value
		if _, err := parseTop(it); (err == nil) != row.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// topUpdates notes the sort keys of updates, and fails those of tops.
type topUpdates struct {
	Client
	keys []string
	top  error
}

func (u *topUpdates) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	sk := dynamo.Text(in.Key, schema.SK)
	u.keys = append(u.keys, sk)
	if sk == schema.TopSK {
		return &dynamodb.UpdateItemOutput{}, u.top
	}
	return &dynamodb.UpdateItemOutput{}, nil
}

// TestTopIsNotedBeforeAndAfterItGrows checks the order of writes: a recheck between the first note and the write
// deletes that note.
func TestTopIsNotedBeforeAndAfterItGrows(t *testing.T) {
	const note = "L#b#all"
	first := func() *parts.Top {
		top := parts.NewTop()
		top.FoldEntry(parts.EntryState{Place: boards.Place{Player: "p"}, Rev: 1, Present: true})
		return top
	}
	for name, row := range map[string]struct {
		was  storedTop
		err  error
		want []string
	}{
		"the first":          {storedTop{Top: parts.NewTop()}, nil, []string{note, schema.TopSK, note}},
		"unknown outcome":    {storedTop{Top: parts.NewTop()}, errors.New("500"), []string{note, schema.TopSK, note}},
		"covers more":        {storedTop{Top: parts.UnknownTop(), version: 3}, nil, []string{note, schema.TopSK, note}},
		"covers what it did": {storedTop{Top: parts.NewTop(), version: 3}, nil, []string{schema.TopSK}},
		"equal":              {storedTop{Top: first(), version: 3}, nil, nil},
	} {
		client := &topUpdates{top: row.err}
		f := &topFolder{client: client, table: "rollups", now: func() time.Time { return time.UnixMilli(1) }}
		change := func(storedTop) (*parts.Top, error) { return first(), nil }
		_, err := f.storeTop(t.Context(), &boardChanges{Period: parts.Period{Board: "b", Label: "all"}}, &row.was, change, 0)
		if !slices.Equal(client.keys, row.want) || !errors.Is(err, row.err) {
			t.Errorf("%s: writes %q, error %v; want %q", name, client.keys, err, row.want)
		}
	}
}
