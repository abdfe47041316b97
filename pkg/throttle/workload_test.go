package throttle_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

var seed = flag.Uint64("seed", 1, "seed of the random operations; 0 takes the clock")

// seedOf returns the seed and logs it.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := *seed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return seed
}

// TestMixedWorkload checks that random operations get the same responses through the limiter as from an engine. Each
// partition key must be charged what the auditor measured. Another -seed tries other operations, some of which may hit
// further mistakes of the engine.
func TestMixedWorkload(t *testing.T) {
	seed := seedOf(t)
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000, TopKeys: 1000})
	plain := newBench(t, roomy)
	a := &auditor{t: t, bench: newBench(t, roomy), writes: map[place]float64{}, reads: map[place]float64{}}
	w := &workload{rand.New(rand.NewPCG(seed, 0))}
	for i := range lane.Runs(150, 600) {
		op := w.next()
		got, gotErr := send(t.Context(), b.db, op.in)
		want, wantErr := send(t.Context(), plain.direct, op.in)
		for _, out := range []any{got, want} {
			if out, ok := out.(*dynamodb.DeleteItemOutput); ok && out != nil {
				out.ConsumedCapacity = nil // for no item, the engine returns it unasked
			}
		}
		if diff := cmp.Diff(want, got, ignoreUnexported, ignoreMetadata); diff != "" || text(gotErr) != text(wantErr) {
			t.Fatalf("operation %d, %s: error %v, want %v; response (-want +got):\n%s", i, operationOf(op.in), gotErr, wantErr, diff)
		}
		op.audit(a)
	}
	wantEqual(t, "the tables differ", plain.image(t), b.image(t), ignoreUnexported)
	wantEqual(t, "write units", a.writes, charged(b.Stats().Keys.Writes))
	wantEqual(t, "read units", a.reads, charged(b.Stats().Keys.Reads))
	checkSums(t, b.Stats())
}

// checkSums checks that the write units by operation, by table and index, and by key have the same sum.
func checkSums(t *testing.T, s throttle.Stats) {
	t.Helper()
	var byOperation, bySpace, byKey float64
	for _, o := range s.Operations {
		byOperation += o.WriteUnits
	}
	for _, space := range s.Spaces {
		bySpace += space.WriteUnits
	}
	for _, k := range s.Keys.Writes {
		byKey += k.Units
	}
	if byOperation != s.WriteUnits || bySpace != s.WriteUnits || byKey != s.WriteUnits || s.WriteUnits == 0 {
		t.Errorf("%v units by operation, %v by table and index, %v by key, %v in all", byOperation, bySpace, byKey, s.WriteUnits)
	}
}

// place is a partition key of the table or its index.
type place struct{ index, key string }

func charged(keys []throttle.KeyUnits) map[place]float64 {
	units := map[place]float64{}
	for _, k := range keys {
		units[place{k.Index, k.Key}] = k.Units
	}
	return units
}

// text returns an error without the request's id.
func text(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	return fmt.Sprint(err)
}

// operation is a call, and how the auditor repeats it.
type operation struct {
	in    any
	audit func(*auditor)
}

// auditor repeats the workload in a table of its own, one item at a time. It adds up the capacity that the engine
// reports.
type auditor struct {
	*bench
	t      *testing.T
	writes map[place]float64
	reads  map[place]float64
}

func (a *auditor) item(key values) values {
	a.t.Helper()
	out, err := a.direct.GetItem(a.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: key, ConsistentRead: aws.Bool(true)})
	require.NoError(a.t, err)
	return out.Item
}

// write makes a write, adds its capacity in the table, multiplied by times, and its capacity in
// the index.
func (a *auditor) write(w writing, times float64) {
	a.t.Helper()
	before := a.item(w.key())
	_, err := send(a.t.Context(), a.direct, asking(types.ReturnConsumedCapacityIndexes, w.input()))
	if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); failed {
		a.rewrite(w.key(), before, times)
		return
	}
	require.NoError(a.t, err)
	used := consumed(a.t, a.plain)[0]
	base := times * *used.Table.CapacityUnits
	for _, local := range used.LocalSecondaryIndexes {
		base += *local.CapacityUnits
	}
	a.writes[place{"", pkOf(w.key())}] += base
	if index, ok := used.GlobalSecondaryIndexes[byGroup]; ok {
		a.index(before, a.item(w.key()), *index.CapacityUnits)
	}
}

// writeAll makes all writes.
func (a *auditor) writeAll(all []writing, times float64) {
	a.t.Helper()
	for _, one := range all {
		a.write(one, times)
	}
}

// index distributes units over the removed and the added entry; each takes one.
func (a *auditor) index(before, after values, units float64) {
	a.t.Helper()
	was, is := groupOf(before), groupOf(after)
	switch {
	case units == 2 && was != "" && is != "":
		a.writes[place{byGroup, was}]++
		a.writes[place{byGroup, is}]++
	case units == 1 && is != "":
		a.writes[place{byGroup, is}]++
	case units == 1 && was != "":
		a.writes[place{byGroup, was}]++
	case units == 1: // the engine's mistake: the item swapped one half of the index key for the other
	default:
		a.t.Fatalf("the index took %v units for a change from %q to %q", units, was, is)
	}
}

// rewrite adds the cost of writing an item unchanged, which is that of a failed condition.
func (a *auditor) rewrite(key, before values, times float64) {
	a.t.Helper()
	units := 1.0
	if before != nil {
		in := &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: before}
		_, err := send(a.t.Context(), a.direct, asking(types.ReturnConsumedCapacityIndexes, in))
		require.NoError(a.t, err)
		units = *consumed(a.t, a.plain)[0].Table.CapacityUnits
	}
	a.writes[place{"", pkOf(key)}] += times * units
}

// read adds the cost of reading an item, multiplied by times.
func (a *auditor) read(key values, consistent bool, times float64) {
	a.t.Helper()
	out, err := a.direct.GetItem(a.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: key,
		ConsistentRead: &consistent, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	require.NoError(a.t, err)
	a.reads[place{"", pkOf(key)}] += times * *out.ConsumedCapacity.CapacityUnits
}

// query adds the cost of a query, at least the least cost of a read.
func (a *auditor) query(in dynamodb.QueryInput, key string) {
	a.t.Helper()
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := a.direct.Query(a.t.Context(), &in)
	require.NoError(a.t, err)
	least := 0.5
	if aws.ToBool(in.ConsistentRead) {
		least = 1
	}
	a.reads[place{aws.ToString(in.IndexName), key}] += max(least, *out.ConsumedCapacity.CapacityUnits)
}

func pkOf(item values) string { return item["pk"].(*types.AttributeValueMemberS).Value }

// groupOf returns an item's partition key in the index, or "" if it is not in the index.
func groupOf(item values) string {
	group, ok := item["group"].(*types.AttributeValueMemberS)
	if _, ranked := item["rank"]; !ok || !ranked {
		return ""
	}
	return group.Value
}
