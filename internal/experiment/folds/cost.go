package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
)

// What is folded: increments of one write shard each, drawn from so many counters.
const (
	costRecords  = 10_000
	costCounters = 1_000
	costExponent = 1.1
	costSeed     = 1
)

// step is one record: a counter's write shard after an increment by 1.
type step struct {
	counter string
	value   int
}

// steps draws the records.
func steps() []step {
	random := mathrand.New(mathrand.NewPCG(costSeed, 0))
	zipf := mathrand.NewZipf(random, costExponent, 1, costCounters-1)
	values := map[uint64]int{}
	list := make([]step, costRecords)
	for i := range list {
		n := zipf.Uint64()
		values[n]++
		list[i] = step{fmt.Sprint("c", n), values[n]}
	}
	return list
}

// way is one to fold a batch.
type way struct {
	name  string
	batch int // records
	fold  func(ctx context.Context, r *rig, batch []step, first int) error
}

// compareCosts folds the same records in each way, and prints what each costs by
// the partition limiter's count.
func compareCosts(ctx context.Context, w io.Writer, endpoint string) error {
	ways := []way{
		{"an update for each record", 100, foldEach},
		{"a transaction with a marker for each record", 100, foldMarked},
		{"hotshard", 100, foldOurs}, {"hotshard", 1000, foldOurs},
	}
	list := steps()
	fmt.Fprintf(w, "%d increments, Zipf %.1f over %d counters, seed %d; write units of the summaries' table\n\n", costRecords, costExponent, costCounters, costSeed)
	fmt.Fprintln(w, "| way | batch | write units | units a record | updates | distinct summaries, by batch | updates each |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, one := range ways {
		if err := one.measure(ctx, w, endpoint, list); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

func (y way) measure(ctx context.Context, w io.Writer, endpoint string, list []step) (err error) {
	limits, err := limiter.New(limiter.Options{Partitions: 64, PartitionWCU: 100_000, Base: local.Transport()})
	if err != nil {
		return err
	}
	r := &rig{names: schema.NamesFor("cost-"), faults: newDice(costSeed)}
	r.faults.calm()
	r.db = local.DynamoDB(endpoint, "f"+rand.Text(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} })
	if err := local.CreateTables(ctx, r.db, r.names); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	limits.Reset()
	distinct := 0
	for first := 0; first < len(list); first += y.batch {
		batch := list[first:min(first+y.batch, len(list))]
		seen := map[string]bool{}
		for _, s := range batch {
			seen[s.counter] = true
		}
		distinct += len(seen)
		if err := y.fold(ctx, r, batch, first); err != nil {
			return err
		}
	}
	units, updates := limits.Stats().WriteUnits, r.folds.Load()
	fmt.Fprintf(w, "| %s | %d | %.0f | %.2f | %d | %d | %.3f |\n", y.name, y.batch, units, units/costRecords, updates, distinct, float64(updates)/float64(distinct))
	return nil
}

func summaryKey(counter string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: schema.SummaryKey(counter, 0)},
		schema.SK: &types.AttributeValueMemberS{Value: schema.SoleSK},
	}
}

var one = map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}}

// foldEach is the usual stream handler.
func foldEach(ctx context.Context, r *rig, batch []step, _ int) error {
	for _, s := range batch {
		r.folds.Add(1)
		if _, err := r.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &r.names.Rollups, Key: summaryKey(s.counter), UpdateExpression: aws.String("ADD x0 :one"), ExpressionAttributeValues: one,
		}); err != nil {
			return err
		}
	}
	return nil
}

// foldMarked is the usual cure: a record's sequence number is written with its
// update.
func foldMarked(ctx context.Context, r *rig, batch []step, first int) error {
	for i, s := range batch {
		r.folds.Add(1)
		marker := summaryKey("m")
		marker[schema.PK] = &types.AttributeValueMemberS{Value: sequence(first + i)}
		if _, err := r.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Update: &types.Update{TableName: &r.names.Rollups, Key: summaryKey(s.counter), UpdateExpression: aws.String("ADD x0 :one"), ExpressionAttributeValues: one}},
			{Put: &types.Put{TableName: &r.names.Rollups, Item: marker, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		}}); err != nil {
			return err
		}
	}
	return nil
}

func sequence(i int) string { return fmt.Sprintf("%021d", i+1) }

// foldOurs hands a batch to an aggregator that lives on between batches.
func foldOurs(ctx context.Context, r *rig, batch []step, first int) error {
	if r.aggregator[0] == nil {
		d, err := newDelivery(r)
		if err != nil {
			return err
		}
		r.aggregator[0] = d
	}
	c, err := r.aggregator[0].containers.pick(0)
	if err != nil {
		return err
	}
	records := make([]string, len(batch))
	for i, s := range batch {
		key := fmt.Sprintf(`"pk":{"S":"C#%s#0"},"sk":{"S":"-"}`, s.counter)
		records[i] = `{"eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":1.7e9,"Keys":{` + key + `},"SequenceNumber":"` +
			sequence(first+i) + `","NewImage":{` + key + `,"rev":{"N":"` + strconv.Itoa(s.value) + `"},"value":{"N":"` + strconv.Itoa(s.value) + `"}}}}`
	}
	out, err := c.handler.Invoke(ctx, []byte(`{"Records":[`+strings.Join(records, ",")+`]}`))
	if err == nil && strings.Contains(string(out), "itemIdentifier") {
		err = fmt.Errorf("the aggregator answered %s", out)
	}
	return err
}
