package erase

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

type item = map[string]types.AttributeValue

// Bounds of what is under way at a time.
const (
	maxReads   = 16 // queries
	maxDeletes = 32
)

// find calls emit, from many goroutines, for each item of the items table that belongs
// to the key. Reads are consistent: what was there before it began, and still is, is
// found.
//
// Counters and sessions can only be on so many partitions, whatever the shard map says,
// so those are asked. The others may be at any day, player or window, for which
// the table is scanned.
func (t *task) find(ctx context.Context, emit func(what What, k key) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	seen := func(list []item) error {
		t.o.Progress(len(list))
		for _, it := range list {
			k := key{attribute.TextOf(it, schema.PK), attribute.TextOf(it, schema.SK)}
			if what, ok := t.match(k); ok {
				if err := emit(what, k); err != nil {
					return err
				}
			}
		}
		return nil
	}
	switch t.base.Type {
	case schema.Counter, schema.Sessions:
		for n := range shard.MaxShards {
			group.Go(func() error {
				return t.query(ctx, t.o.Names.Items, schema.Key{Base: t.base, Shard: n}.String(), "", seen)
			})
		}
	default:
		return t.scanner.Table(ctx, t.o.Names.Items, "pk, sk", seen)
	}
	return group.Wait()
}

// match says what an item is to the key; ok is false for those of other keys.
func (t *task) match(k key) (what What, ok bool) {
	if t.base.Type == schema.Board {
		return t.matchBoard(k)
	}
	parsed, err := schema.ParseKey(k.pk)
	if err != nil || parsed.Base != t.base {
		return "", false
	}
	if k.sk == schema.ProbeSK {
		return Others, true
	}
	switch t.base.Type {
	case schema.Counter:
		if k.sk != schema.SoleSK {
			return Others, true
		}
		return WriteShards, true
	case schema.Entity:
		if _, _, err := schema.ParseEventSortKey(k.sk); err != nil {
			return Others, true
		}
		return Events, true
	case schema.Sessions:
		return Sessions, true
	}
	return Windows, true
}

func (t *task) matchBoard(k key) (what What, ok bool) {
	if board, _, _, ok := schema.ParseEntryKey(k.pk, k.sk); ok {
		return Entries, board == t.base.Name
	}
	// Of a mark only the partition key says whose it is. It may as well be that of a board
	// with a longer name, whose audit can spare it: its record has been written.
	if _, mark := schema.ParseMark(k.sk); mark {
		_, _, _, ok := schema.ParseEntryKey(k.pk, t.base.Name)
		return Others, ok
	}
	if place, ok := strings.CutPrefix(k.pk, schema.ProbeSK+"#"); ok { // of the index
		board, _, _, err := schema.ParseBoardShardKey(place)
		return Others, err == nil && board == t.base.Name
	}
	return "", false
}

// query reads a partition, consistently, of all items whose sort keys begin with a text.
func (e *Eraser) query(ctx context.Context, table, pk, begin string, seen func([]item) error) error {
	input := &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": attribute.Text(pk)},
	}
	if begin != "" {
		input.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :sk)")
		input.ExpressionAttributeValues[":sk"] = attribute.Text(begin)
	}
	for pages := dynamodb.NewQueryPaginator(e.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading %q: %w", pk, err)
		}
		if err := seen(page.Items); err != nil {
			return err
		}
	}
	return nil
}
