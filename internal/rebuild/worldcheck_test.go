package rebuild_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// around runs a call of a check. Something may happen before it; what it writes into the items and events is recorded.
func (w *world) around(t testing.TB) func(in any, call func() error) error {
	return func(in any, call func() error) error {
		w.mu.Lock()
		if !w.calm && w.random.IntN(6) == 0 {
			w.turn(t)
		}
		if w.reads(t, in) {
			w.mu.Unlock()
			return call()
		}
		defer w.mu.Unlock()
		w.left--
		if w.dead = w.dead || w.left == 0; w.dead {
			return errKilled
		}
		removals := w.removals(t, in)
		err := call()
		if err == nil {
			w.recordCall(t, in)
			for _, record := range removals {
				record()
			}
		}
		return err
	}
}

// removals returns functions that record the removals of events by a transaction or a delete.
func (w *world) removals(t testing.TB, in any) (list []func()) {
	var keys []item
	switch in := in.(type) {
	case *dynamodb.TransactWriteItemsInput:
		for _, action := range in.TransactItems {
			if action.Delete != nil {
				keys = append(keys, action.Delete.Key)
			}
		}
	case *dynamodb.DeleteItemInput:
		keys = append(keys, in.Key)
	}
	for _, key := range keys {
		pk, sk := dynamo.Text(key, "pk"), dynamo.Text(key, "sk")
		data, ok := w.get(t, w.names.Events, pk, sk)["data"].(*types.AttributeValueMemberM)
		if ok {
			value, _ := dynamo.Whole(data.Value, "t")
			list = append(list, func() { w.record("REMOVE", pk, sk, image("Old", int(value))) })
		}
	}
	return list
}

// reads reports whether a call reads. If it may wait for folds, it may find records delivered.
func (w *world) reads(t testing.TB, in any) bool {
	waits := false
	switch in := in.(type) {
	case *dynamodb.QueryInput:
		waits = strings.HasPrefix(dynamo.Text(in.ExpressionAttributeValues, ":pk"), schema.AckPrefix)
	case *dynamodb.BatchGetItemInput:
		waits = true
	case *dynamodb.GetItemInput:
	default:
		return false
	}
	if waits && (w.calm || w.random.IntN(2) == 0) {
		w.deliverAll(t)
	}
	return true
}

// recordCall records a stream marker, a counter's raised rev, an erased event, or a reset of the shard count.
func (w *world) recordCall(t testing.TB, in any) {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		if pk, sk := dynamo.Text(in.Item, "pk"), dynamo.Text(in.Item, "sk"); schema.MayBeMarker(pk, sk) {
			w.record("INSERT", pk, sk, `,"NewImage":{KEYS}`)
		}
	case *dynamodb.DeleteItemInput:
		if *in.TableName == w.names.Events {
			delete(w.events[w.sound], dynamo.Text(in.Key, "sk"))
		}
	case *dynamodb.TransactWriteItemsInput:
		w.single = w.single || w.erased && in.TransactItems[0].Put != nil && *in.TransactItems[0].Put.TableName == w.names.ShardMap
	case *dynamodb.UpdateItemInput:
		if key, err := schema.ParseKey(dynamo.Text(in.Key, "pk")); err == nil && *in.TableName == w.names.Items {
			w.recordCount(t, key.Base.Name, key.Shard)
		}
	}
}

// wantSums compares an entity's rollup with its events, and a counter's summary with its write shards.
func (w *world) wantSums(t testing.TB, name string) {
	t.Helper()
	var want, got int64
	for _, value := range w.events[name] {
		want += int64(value)
	}
	rollup := parts.NewEvents(w.db, w.names.Rollups, time.Now).Sum(w.parts(t, name, hour()))
	sum := rollup.Measures["t"].Sum
	if rollup.Events != int64(len(w.events[name])) || fmt.Sprint(sum) != fmt.Sprint(want) && !w.unsure(name) {
		t.Errorf("%s: the rollup has %d events and the sum %v, want %d and %d", name, rollup.Events, sum, len(w.events[name]), want)
	}
	want = 0
	for n := 1; n < 3; n++ {
		pk, sk := schema.CounterKey(name, n)
		item, _ := dynamo.Whole(w.get(t, w.names.Items, pk, sk), "value")
		summary, _ := dynamo.Whole(w.get(t, w.names.Rollups, schema.SummaryKey(name, n), "-"), schema.ValueAttr(n))
		want, got = want+item, got+summary
	}
	if got != want {
		t.Errorf("%s: the counter's summary has %d, want %d", name, got, want)
	}
}

// unsure reports whether which copy reads return is not modeled: none is on its home.
func (w *world) unsure(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(w.events[name])), -1)
}

// wantEachOnce checks that each event is stored once, on its home if it ever was there.
func (w *world) wantEachOnce(t testing.TB) {
	t.Helper()
	for _, entity := range []string{w.sound, w.hurt} {
		for sk := range w.events[entity] {
			var at []int
			for n := range 3 {
				if w.get(t, w.names.Events, dayOf(entity, n), sk) != nil {
					at = append(at, n)
				}
			}
			if len(at) != 1 || slices.Contains(w.places[entity][sk], w.home(sk)) && at[0] != w.home(sk) {
				t.Errorf("the event %s of %s is on write shards %v; it was put on %v, and its home is %d", sk, entity, at, w.places[entity][sk], w.home(sk))
			}
		}
	}
}
