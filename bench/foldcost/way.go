package foldcost

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// folder is a container that folds batches.
type folder interface {
	fold(ctx context.Context, batch []record) error
}

// way is one to fold.
type way struct {
	name  string
	batch int // records; 0 where it makes no difference
	begin func(j *job) (folder, error)
}

// ways are those that are compared, the naive one first.
var ways = []way{
	{"an update for each record", 0, func(j *job) (folder, error) { return eachRecord{j}, nil }},
	{"a transaction with a marker for each record", 0, func(j *job) (folder, error) { return marked{eachRecord{j}}, nil }},
	{"hotshard", 100, newOurs}, {"hotshard", 1_000, newOurs}, {"hotshard", 10_000, newOurs},
}

// workers fold different targets at the same time, so that a run doesn't take all
// day. What is counted does not depend on it.
const workers = 8

// eachRecord is the usual stream handler: it adds to the summary.
type eachRecord struct{ *job }

func (e eachRecord) fold(ctx context.Context, batch []record) error {
	return apart(batch, func(r record) error {
		key, update, values := e.add(r)
		_, err := e.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &e.Names.Rollups, Key: key, UpdateExpression: update, ExpressionAttributeValues: values})
		return err
	})
}

// add is what one record does to its summary. A smallest and a largest number
// can't be kept in this way.
func (e eachRecord) add(r record) (key map[string]types.AttributeValue, update *string, values map[string]types.AttributeValue) {
	values = map[string]types.AttributeValue{":one": rig.N(1)}
	if !e.events {
		return rig.Key(schema.SummaryKey(r.name(), 0), schema.SoleSK), aws.String("ADD x0 :one"), values
	}
	values[":t"] = &types.AttributeValueMemberN{Value: r.temperature()}
	return rig.Key(schema.RollupKey(r.name(), shard.Hour, r.time(), "all")), aws.String("ADD events :one, temperature_sum :t"), values
}

// marked is the usual cure: the record's sequence number is written with the same
// update, once.
type marked struct{ eachRecord }

func (m marked) fold(ctx context.Context, batch []record) error {
	return apart(batch, func(r record) error {
		key, update, values := m.add(r)
		_, err := m.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Update: &types.Update{TableName: &m.Names.Rollups, Key: key, UpdateExpression: update, ExpressionAttributeValues: values}},
			{Put: &types.Put{TableName: &m.Names.Rollups, Item: rig.Key("M#"+r.sequence(), schema.SoleSK), ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		}})
		again := refused(err) // it was folded before
		m.count(again)
		if again {
			return nil
		}
		return err
	})
}

// refused tells a transaction whose condition failed.
func refused(err error) bool {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return false
	}
	for _, reason := range cancelled.CancellationReasons {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
			return true
		}
	}
	return false
}

// apart does something with each record, with those of a target in their order.
func apart(batch []record, do func(record) error) error {
	byTarget := map[int][]record{}
	for _, r := range batch {
		byTarget[r.target] = append(byTarget[r.target], r)
	}
	var group errgroup.Group
	group.SetLimit(workers)
	for _, list := range byTarget {
		group.Go(func() error {
			for _, r := range list {
				if err := do(r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// ours is a container of the aggregator.
type ours struct {
	load
	*rollup.Handler
}

func newOurs(j *job) (folder, error) {
	handler, err := j.Aggregator(j.Updates)
	return ours{j.load, handler}, err
}

func (o ours) fold(ctx context.Context, batch []record) error {
	return rig.Deliver(ctx, o.Handler, o.payload(batch))
}
