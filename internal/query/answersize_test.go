package query

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// lambdaLimit is the maximum size of a synchronous response of Lambda, in bytes.
const lambdaLimit = 6_291_556

// TestManyRollupsAreRejected checks that a range whose response would be too large for Lambda is rejected.
func TestManyRollupsAreRejected(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	part := parts.Rollup{}.Clone()
	values := map[string]string{}
	for i := range parts.MaxMeasures {
		values[fmt.Sprint(i, strings.Repeat(`"`, parts.MaxFieldName-2))] = "12345.6789"
	}
	part.Add(values)
	var items []dynamo.Item
	for hour := range 480 {
		item := part.Attributes()
		maps.Copy(item, dynamo.Key(schema.RollupKey("e", start.Add(time.Duration(hour)*time.Hour), "s")))
		items = append(items, item)
	}
	for days, fits := range map[int]bool{2: true, 20: false} {
		client := &unreadable{}
		client.items = items[:24*days]
		r := &rollupReader{client: client, table: "r"}
		in := &rollupsInput{Entity: "e", From: httpapi.Time{Time: start}, To: httpapi.Time{Time: start.AddDate(0, 0, days)}, Every: "1h"}
		out, err := r.listRollups(t.Context(), in, start.AddDate(0, 1, 0))
		if (err == nil) != fits || !fits && !strings.HasPrefix(faultOf(err), "query.from ") {
			t.Errorf("%d days: %v", days, err)
		}
		if weight, weighed := httpapi.WeightOf(out); fits && (weighed != nil || weight > lambdaLimit) {
			t.Errorf("%d days weigh %d bytes, %v", days, weight, weighed)
		}
	}
}

// TestManyShardCountsArePaged checks that a list of shard counts continues on a second page if it is too large for Lambda.
func TestManyShardCountsArePaged(t *testing.T) {
	entries := make([]shardmap.Entry, 2600)
	for i := range entries {
		entries[i] = shardmap.Entry{Key: fmt.Sprintf("C#%04d%s", i, strings.Repeat(`"`, 500))}
	}
	first, err := fitList(entries)
	if err != nil || first.Cursor == "" {
		t.Fatalf("%d keys, cursor %q, %v", len(first.Keys), first.Cursor, err)
	}
	if after, err := decodeCursor(listOfShards, first.Cursor, isBaseKey); err != nil || after != entries[len(first.Keys)-1].Key {
		t.Errorf("the second page begins after %.10q, %v", after, err)
	}
	rest, err := fitList(entries[len(first.Keys):])
	if err != nil || rest.Cursor != "" || len(first.Keys)+len(rest.Keys) != len(entries) {
		t.Errorf("%d and %d keys of %d, cursor %q, %v", len(first.Keys), len(rest.Keys), len(entries), rest.Cursor, err)
	}
	for _, list := range []shardsList{first, rest} {
		if weight, err := httpapi.WeightOf(list); err != nil || weight > lambdaLimit {
			t.Errorf("%d keys weigh %d, %v", len(list.Keys), weight, err)
		}
	}
}

// TestForeignItemsAreNamed checks that an unreadable item among an entity's events is an error with the item's key.
func TestForeignItemsAreNamed(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	const stamp = "2026-01-05T12:30:00.000Z"
	for entity, sk := range map[string]string{"set": stamp + "#x", "time": "2026-01-05T12:30:00.0xxZ#x", "binary": stamp + "#\x01"} {
		r := newRig(t)
		r.putEvents(events.Event{Entity: entity, ID: "good", Time: at})
		item := dynamo.Item{
			"pk": dynamo.String("E#" + entity + "#2026-01-05#0"), "sk": dynamo.String(sk),
			"data": &types.AttributeValueMemberM{Value: dynamo.Item{"x": &types.AttributeValueMemberSS{Value: []string{"a"}}}},
		}
		if entity == "binary" {
			item["data"] = &types.AttributeValueMemberM{Value: dynamo.Item{"x": &types.AttributeValueMemberB{Value: []byte("a")}}}
		}
		r.putItem(r.names.Events, item)
		var p problem
		got := r.get("/v1/events?entity="+entity+"&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z", &p)
		if got != 500 || !strings.Contains(p.Detail, strings.Trim(sk, "\x01")) {
			t.Errorf("%s: %d %s, want a 500 with %q", entity, got, p.Detail, sk)
		}
	}
}

// TestWeightOfAnEvent checks that an event weighs at least the bytes that it takes as a JSON string in Lambda's response.
func TestWeightOfAnEvent(t *testing.T) {
	e := event{ID: strings.Repeat(`"`, 500), Time: "2026-01-05T12:00:00.000Z", Data: httpapi.Object{RawMessage: []byte("{}")}}
	if size, err := httpapi.WeightOf(e); err != nil || e.weight() < size {
		t.Errorf("%d, %v; want at least %d", e.weight(), err, size)
	}
}

// TestLargestLeaderboard checks that as many places as a call may ask for, of the longest names, fit into Lambda's response.
func TestLargestLeaderboard(t *testing.T) {
	limit, _ := reflect.TypeFor[boardInput]().FieldByName("Limit")
	n, err := strconv.Atoi(limit.Tag.Get("maximum"))
	require.NoError(t, err)
	out := &boardOutput{}
	out.Body.Entries = placeAnswers(slices.Repeat([]boards.Place{{Player: strings.Repeat(`"`, httpapi.MaxName), Score: score(t, "1")}}, n), 1)
	if weight, err := httpapi.WeightOf(out.Body); err != nil || n < 100 || weight > lambdaLimit {
		t.Errorf("%d places weigh %d bytes, %v", n, weight, err)
	}
}
