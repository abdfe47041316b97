package erase

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// tombstone folds the removal of a write shard, as the aggregator will: it is worth 0
// from the rev after its last. So the summary agrees at once, also while the
// aggregator is off. The tombstone stays: it keeps old records that come again from
// bringing the value back, and the daily compaction removes it.
func (t *task) tombstone(ctx context.Context, pk string, old item) error {
	parsed, err := schema.ParseKey(pk)
	if err != nil {
		return err
	}
	rev, ok := wholeOf(old, "rev")
	if !ok {
		return nil // no fold could read it either
	}
	attr := schema.RevAttr(parsed.Shard)
	_, err = t.putTombstone(ctx, parsed.Shard, rev, "attribute_not_exists("+attr+") OR "+attr+" < :rev", nil)
	return err
}

// putTombstone sets a write shard to 0 at the rev after one; refused is that the
// condition failed.
func (t *task) putTombstone(ctx context.Context, source int, rev *big.Int, condition string, values item) (refused bool, err error) {
	revAttr, valueAttr := schema.RevAttr(source), schema.ValueAttr(source)
	set := item{
		":rev":  &types.AttributeValueMemberN{Value: new(big.Int).Add(rev, big.NewInt(1)).String()},
		":zero": number(0), ":at": number(t.o.Now().UnixMilli()), ":v": &types.AttributeValueMemberN{Value: schema.SummaryVersion},
	}
	for name, value := range values {
		set[name] = value
	}
	pk := schema.SummaryKey(t.base.Name, source)
	_, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.o.Names.Rollups, Key: itemKey(pk, schema.SoleSK),
		UpdateExpression:    aws.String("SET v = :v, as_of = :at, gone = :at, " + revAttr + " = :rev, " + valueAttr + " = :zero"),
		ConditionExpression: &condition, ExpressionAttributeValues: set,
	})
	if _, refused = errors.AsType[*types.ConditionalCheckFailedException](err); refused {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("folding a removal into %q: %w", pk, err)
	}
	return false, nil
}

// bury puts tombstones where a summary still has a value of a write shard that is not
// there: of one whose removal was not folded before a process was killed.
func (t *task) bury(ctx context.Context) error {
	for first := 0; first < shard.MaxShards; first += schema.SourcesPerPartial {
		pk := schema.SummaryKey(t.base.Name, first)
		summary, err := t.get(ctx, t.o.Names.Rollups, pk, schema.SoleSK)
		if err != nil {
			return err
		}
		for _, source := range sourcesOf(summary) {
			if err := t.buryOne(ctx, summary, source); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *task) buryOne(ctx context.Context, summary item, source int) error {
	revAttr, valueAttr := schema.RevAttr(source), schema.ValueAttr(source)
	pk := schema.Key{Base: t.base, Shard: source}.String()
	there, err := t.get(ctx, t.o.Names.Items, pk, schema.SoleSK)
	if err != nil {
		return err
	}
	rev, ok := wholeOf(summary, revAttr)
	switch {
	case len(there) > 0:
		t.left("write shard %d was written meanwhile", source)
		return nil
	case !ok || summary[valueAttr] == nil:
		t.left("what the summary has of write shard %d can't be read: hotshard audit names it", source)
		return nil
	}
	refused, err := t.putTombstone(ctx, source, rev, revAttr+" = :was AND "+valueAttr+" = :value",
		item{":was": summary[revAttr], ":value": summary[valueAttr]})
	if refused {
		t.left("write shard %d was folded meanwhile", source)
	} else if err == nil {
		t.deleted(Summaries, 1)
	}
	return err
}

// sourcesOf lists the write shards whose value in a summary is not 0.
func sourcesOf(summary item) (list []int) {
	for name := range summary {
		source, err := strconv.Atoi(strings.TrimPrefix(name, "x"))
		if err != nil || schema.ValueAttr(source) != name {
			continue
		}
		if value, ok := wholeOf(summary, name); !ok || value.Sign() != 0 {
			list = append(list, source)
		}
	}
	return list
}

// wholeOf returns an attribute that is a whole number; ok is false for any other.
func wholeOf(from item, name string) (n *big.Int, ok bool) {
	digits, ok := from[name].(*types.AttributeValueMemberN)
	if !ok {
		return nil, false
	}
	return new(big.Int).SetString(digits.Value, 10)
}

// get reads an item consistently; nil without one.
func (e *Eraser) get(ctx context.Context, table, pk, sk string) (item, error) {
	out, err := e.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: itemKey(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", pk, err)
	}
	return out.Item, nil
}
