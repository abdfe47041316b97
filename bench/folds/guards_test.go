//go:build long

package folds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
)

// maxRuns is the number of runs in which a missing guard must show. A single run may have no fault that needs
// the guard.
const maxRuns = 10

// withoutFoldGuard removes the conditions on rev and on a fragment's sequence number.
func withoutFoldGuard(r role, call any) any {
	in, ok := call.(*dynamodb.UpdateItemInput)
	if !ok || r == ofIngest {
		return call
	}
	changed := *in
	changed.ConditionExpression, changed.ReturnValuesOnConditionCheckFailure = nil, ""
	return &changed
}

// withoutMarker removes the condition on a keyed call's marker.
func withoutMarker(_ role, call any) any {
	in, ok := call.(*dynamodb.TransactWriteItemsInput)
	if !ok {
		return call
	}
	changed := *in
	changed.TransactItems = slices.Clone(in.TransactItems)
	for i, action := range changed.TransactItems {
		if action.Put != nil {
			put := *action.Put
			put.ConditionExpression, put.ExpressionAttributeValues, put.ReturnValuesOnConditionCheckFailure = nil, nil, ""
			changed.TransactItems[i].Put = &put
		}
	}
	return &changed
}

// addingMore adds 1 to the delta of an increment.
func addingMore(r role, call any) any {
	in, ok := call.(*dynamodb.UpdateItemInput)
	if !ok || r != ofIngest {
		return call
	}
	_, delta, ok := deltaOf(in.Key, in.ExpressionAttributeValues)
	if !ok {
		return call
	}
	changed := *in
	changed.ExpressionAttributeValues = maps.Clone(in.ExpressionAttributeValues)
	changed.ExpressionAttributeValues[":delta"] = dynamo.Number(delta + 1)
	return &changed
}

// rejecting changes an answer: it reports that nothing was accepted.
func rejecting(answer []byte) []byte {
	return bytes.ReplaceAll(answer, []byte(`"accepted"`), []byte(`"rejected"`))
}

// onTwoShards also writes the first event of a batch to another write shard.
func onTwoShards(_ role, call any) any {
	in, ok := call.(*dynamodb.BatchWriteItemInput)
	if !ok {
		return call
	}
	changed := *in
	changed.RequestItems = maps.Clone(in.RequestItems)
	for table, requests := range changed.RequestItems {
		if len(requests) == 25 { // a full batch
			continue
		}
		copied := maps.Clone(requests[0].PutRequest.Item)
		key, err := schema.ParseKey(dynamo.Text(copied, schema.PK))
		if err != nil {
			panic(err) // events only
		}
		key.Shard++
		copied[schema.PK] = dynamo.String(key.String())
		changed.RequestItems[table] = append(slices.Clone(requests), types.WriteRequest{PutRequest: &types.PutRequest{Item: copied}})
	}
	return &changed
}

// without drops the deliveries that contain a text.
func without(text string) func(*batch) {
	return func(b *batch) {
		if slices.ContainsFunc(b.records, func(r json.RawMessage) bool { return strings.Contains(string(r), text) }) {
			b.records = nil
		}
	}
}

// withLastTwice repeats the last record of a delivery with the next sequence number.
func withLastTwice(b *batch) {
	if len(b.records) == 0 {
		return
	}
	last := len(b.records) - 1
	was := b.record(last).Dynamodb.SequenceNumber
	next, ok := new(big.Int).SetString(was, 10)
	if !ok {
		panic("a sequence number is no number: " + was)
	}
	next.Add(next, big.NewInt(1))
	b.records = append(b.records, bytes.Replace(b.records[last], []byte(was), fmt.Appendf(nil, "%0*d", len(was), next), 1))
}

// TestHarnessFindsEachFault tampers with calls, answers or deliveries in one way at a time, and checks that a run
// finds the difference.
func TestHarnessFindsEachFault(t *testing.T) {
	t.Parallel()
	counters, events := options{Increments: 4000}, options{Events: 200}
	for name, c := range map[string]struct {
		of      options
		tamper  func(role, any) any
		answer  func([]byte) []byte
		deliver func(*batch)
		finds   string
	}{
		"folds without the condition on rev": {counters, withoutFoldGuard, nil, nil, "its summary has"},
		"keyed calls without their marker":   {counters, withoutMarker, nil, nil, "was applied 2 times"},
		"keyed events without their marker":  {events, withoutMarker, nil, nil, "was applied 2 times"},
		"updates that add too much":          {counters, addingMore, nil, nil, "was added instead of"},
		"increments refused and yet added":   {counters, nil, rejecting, nil, "was refused and added"},
		"deliveries lost":                    {counters, nil, nil, without("c#0#"), "its summary has"},
		"folds without the condition on seq": {events, withoutFoldGuard, nil, nil, "rollup"},
		"deliveries of events lost":          {events, nil, nil, without(entityName(0) + "#"), "rollup"},
		"a record folded as two":             {events, nil, nil, withLastTwice, "rollup"},
		"events rejected and yet written":    {events, nil, rejecting, nil, "was rejected and written"},
		"events on two write shards":         {events, onTwoShards, nil, nil, "or once more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range maxRuns {
				r := runOnce(t, func(o *options) {
					o.Increments, o.Events, o.tamper, o.answer, o.deliver = c.of.Increments, c.of.Events, c.tamper, c.answer, c.deliver
				})
				if slices.ContainsFunc(r.described, func(line string) bool { return strings.Contains(line, c.finds) }) {
					return
				}
			}
			t.Errorf("%d runs found no difference with %q", maxRuns, c.finds)
		})
	}
}

// TestGapIsRepaired loses consecutive records of the stream. An audit must find the wrong summaries, and rebuild
// and replay must repair all of them.
func TestGapIsRepaired(t *testing.T) {
	t.Parallel()
	r := runOnce(t, func(o *options) { o.Gap, o.Spread, o.Events, o.Entities = true, virtualstream.ByPartitionKey, 350, 3 })
	for _, line := range r.described {
		t.Error(line)
	}
	if r.of(recordsLost) == 0 || r.of(auditsFound) == 0 || r.of(rebuiltInLoad)+r.of(rebuiltAtRest) == 0 {
		t.Errorf("no records were lost, or no summary found and rebuilt: %v", r.n)
	}
}
