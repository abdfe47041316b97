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
// to the key: all that was there before it began, and still is. Reads are consistent, but
// of the index, which is given the time to catch up.
//
// Counters and groups of sessions can only be on so many partitions, of the table or of the
// index by_group, whatever the shard map says, so those are asked. The others may be at any
// day, player or window, for which the table is scanned.
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
	case schema.Counter:
		for n := range shard.MaxShards {
			group.Go(func() error {
				return t.query(ctx, t.o.Names.Items, schema.Key{Base: t.base, Shard: n}.String(), "", seen)
			})
		}
	case schema.Sessions:
		if !t.o.DryRun { // the index shows what was there when this began
			if err := pause(ctx, t.o.IndexLag); err != nil {
				return err
			}
		}
		for n := range shard.MaxShards {
			group.Go(func() error { return t.queryGroup(ctx, schema.SessionShardKey(t.base.Name, n), seen) })
		}
	default:
		return t.scanner.Table(ctx, t.o.Names.Items, "pk, sk", seen)
	}
	return group.Wait()
}

// match says what an item is to the key; ok is false for those of other keys.
func (t *task) match(k key) (what What, ok bool) {
	switch t.base.Type {
	case schema.Board:
		return t.matchBoard(k)
	case schema.Sessions: // found by the group's partition keys in the index
		if _, _, session := schema.ParseSessionKey(k.pk, k.sk); session {
			return Sessions, true
		}
		return Others, true
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
	return e.pages(ctx, pk, input, seen)
}

// queryGroup reads a partition of the index by_group.
func (e *Eraser) queryGroup(ctx context.Context, place string, seen func([]item) error) error {
	return e.pages(ctx, place, &dynamodb.QueryInput{
		TableName: &e.o.Names.Items, IndexName: aws.String(schema.ByGroup),
		KeyConditionExpression:    aws.String("session_shard = :shard"),
		ExpressionAttributeValues: item{":shard": attribute.Text(place)},
	}, seen)
}

func (e *Eraser) pages(ctx context.Context, of string, input *dynamodb.QueryInput, seen func([]item) error) error {
	for pages := dynamodb.NewQueryPaginator(e.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("reading %q: %w", of, err)
		}
		if err := seen(page.Items); err != nil {
			return err
		}
	}
	return nil
}
