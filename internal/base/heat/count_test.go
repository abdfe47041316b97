package heat

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// countedAt returns the time some seconds after noon.
func countedAt(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// made returns a write of a key.
func made(sequence, key string, second, units int, indexes ...ddbstream.IndexWrite) *Write {
	return &Write{Sequence: []byte(sequence), At: countedAt(second), Key: []byte(key), Units: units, Indexes: indexes}
}

// ofIndex returns a write to an index, or to a local index if it has no name.
func ofIndex(index, key string, units int) ddbstream.IndexWrite {
	return ddbstream.IndexWrite{Index: index, Key: []byte(key), Units: units}
}

// countWrites returns a window with some writes.
func countWrites() *WindowCounter {
	w := NewWindowCounter(noon.In(time.FixedZone("east", 7200)), 10*time.Second, 100)
	w.Add(made("7", "a", 1, 3, ofIndex("i", "x", 2), ofIndex("", "local", 9)))
	w.Add(made("8", "b", 1, 1, ofIndex("j", "x", 1)))
	w.Add(made("9", "a", 2, 5, ofIndex("i", "x", 2), ofIndex("i", "y", 1)))
	w.Delivered("10")
	return w
}

// TestItem checks the counts of a window, and that its state has all of them.
func TestItem(t *testing.T) {
	want := Item{
		Start: noon, Window: 10 * time.Second, StreamShard: "s", Part: "p", Records: 3, Units: 9, IndexUnits: map[string]uint64{"i": 5, "j": 1}, Limit: 1000, HotRate: 700,
		Keys: []Key{
			{Key: "a", Units: 8, Writes: 2, Peak: 5, PeakAt: countedAt(2)}, {Key: "b", Units: 1, Writes: 1, Peak: 1, PeakAt: countedAt(1)},
			{Index: "i", Key: "x", Units: 4, Writes: 2, Peak: 2, PeakAt: countedAt(1)}, {Index: "i", Key: "y", Units: 1, Writes: 1, Peak: 1, PeakAt: countedAt(2)}, {Index: "j", Key: "x", Units: 1, Writes: 1, Peak: 1, PeakAt: countedAt(1)},
		},
	}
	w := countWrites()
	if diff := cmp.Diff(want, w.Item("s", "p", 1000, 700)); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}
	if table, indexes := w.Units(); table != 9 || indexes != 6 || w.First() != "7" {
		t.Errorf("%d units of the table and %d of indexes, first %q", table, indexes, w.First())
	}
	resumed, err := ResumeWindow(w.State(), noon, countedAt(10), 10*time.Second, 100)
	require.NoError(t, err)
	if diff := cmp.Diff(want, resumed.Item("s", "p", 1000, 700)); diff != "" || resumed.First() != "7" || resumed.Follows([]byte("10")) || fmt.Sprint(resumed.State()) != fmt.Sprint(w.State()) {
		t.Errorf("first %q, item of the resumed window (-want +got):\n%s", resumed.First(), diff)
	}
	w.Miss("11")
	missed, err := ResumeWindow(w.State(), noon, countedAt(10), 10*time.Second, 100)
	if err != nil || !w.Item("s", "", 1, 1).Incomplete || !missed.Incomplete || w.First() != "7" || resumed.Incomplete {
		t.Errorf("a missed record: %v, first %q", err, w.First())
	}
	empty := NewWindowCounter(noon, time.Second, 10)
	if it := empty.Item("s", "", 1, 1); it.IndexUnits != nil || len(it.Keys) > 0 || it.Incomplete || it.Rest > 0 {
		t.Errorf("an empty window: %+v", it)
	}
	if empty.Miss("3"); empty.First() != "3" {
		t.Errorf("the first record was missed: %q", empty.First())
	}
}

// TestFollows checks which sequence numbers are newer than an earlier delivery's.
func TestFollows(t *testing.T) {
	w := NewWindowCounter(noon, time.Second, 10)
	for _, c := range []struct {
		last, next string
		want       bool
	}{{"", "1", true}, {"9", "10", true}, {"10", "9", false}, {"10", "10", false}, {"10", "11", true}, {"0010", "0009", false}} {
		w.Delivered(c.last)
		if got := w.Follows([]byte(c.next)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestKeysAreBounded checks that the lightest keys are in the rest.
func TestKeysAreBounded(t *testing.T) {
	for _, c := range []struct{ topK, keys, rest, indexKeys, indexRest int }{
		{1000, MaxKeys, 300 - MaxKeys, 300, 0}, {150, 150, 0, 150, 0},
	} {
		w := NewWindowCounter(noon, time.Second, c.topK)
		for i := range 300 {
			w.Add(made("1", fmt.Sprint("k", i), 0, 300-i, ofIndex("i", fmt.Sprint("k", i), 300-i)))
		}
		it := w.Item("s", "", 1, 1)
		keys := 0
		for _, k := range it.Keys {
			if k.Index == "" {
				keys++
			}
		}
		if keys != c.keys || len(it.Keys)-keys != c.indexKeys || c.topK == 1000 && (int(it.Rest) != c.rest || it.IndexRest != 0) || c.topK < 300 && (it.Rest == 0 || it.IndexRest == 0) {
			t.Errorf("%d counted: %d keys, rest %d; %d of the index, rest %d", c.topK, keys, it.Rest, len(it.Keys)-keys, it.IndexRest)
		}
	}
	if state := len(base64.StdEncoding.EncodeToString(make([]byte, maxKeyBytes+maxIndexKeyBytes))); state > 1_000_001 {
		t.Errorf("a state may have %d bytes, and Lambda allows 1 MB", state)
	}
}

// TestResume checks which states are of the window that is counted.
func TestResume(t *testing.T) {
	state := countWrites().State()
	with := func(v, window string) map[string]string { return map[string]string{"v": v, "window": window} }
	cut, _ := base64.StdEncoding.DecodeString(state["window"])
	for name, c := range map[string]struct {
		state    map[string]string
		from, to int
		length   time.Duration
		ok       bool
	}{
		"of the window":    {state, 0, 10, 10 * time.Second, true},
		"within a longer":  {state, -5, 15, 10 * time.Second, true},
		"of an earlier":    {state, 1, 11, 10 * time.Second, false},
		"of a later":       {state, -1, 9, 10 * time.Second, false},
		"another length":   {state, 0, 10, 5 * time.Second, false},
		"no state":         {nil, 0, 10, 10 * time.Second, false},
		"another version":  {with("3", state["window"]), 0, 10, 10 * time.Second, false},
		"no base64":        {with("2", "?"), 0, 10, 10 * time.Second, false},
		"cut":              {with("2", base64.StdEncoding.EncodeToString(cut[:len(cut)-3])), 0, 10, 10 * time.Second, false},
		"without a window": {with("2", ""), 0, 10, 10 * time.Second, false},
	} {
		w, err := ResumeWindow(c.state, countedAt(c.from), countedAt(c.to), c.length, 100)
		if (err == nil) != c.ok || c.ok && w.Records != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// records decodes stream records of a table with the keys pk and sk.
func records(t *testing.T, texts ...string) []ddbstream.Record {
	t.Helper()
	batch, err := ddbstream.Decode([]byte(`{"Records":[` + strings.Join(texts, ",") + `]}`))
	require.NoError(t, err)
	return batch.Records
}

// put returns the record of a new item.
func put(created, key, more string) string {
	return fmt.Sprintf(`{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/t/stream/x","dynamodb":{%s"SequenceNumber":"7","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{%s},"NewImage":{%s%s}}}`, created, key, key, more)
}

// TestDecode checks the writes of records, and which can't be counted.
func TestDecode(t *testing.T) {
	const created, key = `"ApproximateCreationDateTime":1767614401,`, `"pk":{"S":"a"},"sk":{"S":"1"}`
	source := CountedTable{PartitionKey: "pk", Indexes: []ddbstream.Index{
		{Name: "g", Partition: []string{"g"}, Projected: nil}, {Partition: []string{"pk"}, Sort: []string{"l"}},
	}}
	list := records(t,
		put(created, key, `,"g":{"S":"x"},"l":{"S":"y"},"d":{"S":"`+strings.Repeat("x", 1500)+`"}`), put(created, key, ""), put("", key, ""), put(created, `"other":{"S":"a"}`, ""), put(created, `"pk":{"S":""}`, ""), put(created, key, `,"d":{"S":7}`))
	var got []string
	for w := range DecodeWrites(list, source) {
		text := fmt.Sprint(string(w.Sequence), " ", string(w.Key), " ", w.Units, " ", w.At.Unix()-noon.Unix())
		for _, x := range w.Indexes {
			text += fmt.Sprint(" ", x.Index, ":", string(x.Key), ":", x.Units)
		}
		switch {
		case w.Err != nil:
			text = "error"
		case w.At.IsZero():
			text = "no time"
		}
		got = append(got, text)
	}
	want := []string{"7 a 4 1 g:x:2 :a:2", "7 a 1 1", "no time", "error", "error", "error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	for range DecodeWrites(list, source) {
		break // a loop may end
	}
}

// TestDescribe checks the source of a table's description, and of hotshard's own tables.
func TestDescribe(t *testing.T) {
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	all := &types.Projection{ProjectionType: types.ProjectionTypeAll}
	table := func() *types.TableDescription {
		return &types.TableDescription{
			TableName: aws.String("t"), KeySchema: []types.KeySchemaElement{key("p", types.KeyTypeHash), key("s", types.KeyTypeRange)},
			StreamSpecification:    &types.StreamSpecification{StreamEnabled: aws.Bool(true)},
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{{IndexName: aws.String("g"), KeySchema: []types.KeySchemaElement{key("x", types.KeyTypeHash)}, Projection: all}},
			LocalSecondaryIndexes:  []types.LocalSecondaryIndexDescription{{IndexName: aws.String("l"), KeySchema: []types.KeySchemaElement{key("p", types.KeyTypeHash), key("y", types.KeyTypeRange)}, Projection: all}},
			Replicas:               []types.ReplicaDescription{{RegionName: aws.String("eu-west-1")}},
		}
	}
	got, err := ParseTable(table())
	want := CountedTable{Table: "t", PartitionKey: "p", SortKey: "s", Replicas: []string{"eu-west-1"}, Indexes: []ddbstream.Index{
		{Name: "g", Partition: []string{"x"}}, {Partition: []string{"p"}, Sort: []string{"y"}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, source (-want +got):\n%s", err, diff)
	}
	for name, change := range map[string]func(*types.TableDescription) *types.TableDescription{
		"no table":  func(*types.TableDescription) *types.TableDescription { return nil },
		"no stream": func(d *types.TableDescription) *types.TableDescription { d.StreamSpecification = nil; return d },
		"a stream off": func(d *types.TableDescription) *types.TableDescription {
			d.StreamSpecification.StreamEnabled = nil
			return d
		},
		"no partition key": func(d *types.TableDescription) *types.TableDescription { d.KeySchema = d.KeySchema[1:]; return d },
	} {
		if _, err := ParseTable(change(table())); err == nil {
			t.Errorf("%s is a source", name)
		}
	}
	names := schema.NamesFor("p-")
	items, events := OwnTable(names, schema.ItemsTable), OwnTable(names, schema.EventsTable)
	if items.Table != "p-items" || items.PartitionKey != "pk" || items.SortKey != "sk" || items.Own != schema.ItemsTable || len(items.Indexes) != 2 || items.Indexes[0].Name != "by_rank" ||
		fmt.Sprint(items.Indexes[1]) != fmt.Sprint(ddbstream.NewIndex("by_group", []string{"session_shard"}, []string{"sk"}, []string{"pk", "sk"}, []string{"started_at", "ends_at"})) || events.Table != "p-events" || len(events.Indexes) != 0 {
		t.Errorf("%+v, %+v", items, events)
	}
	for warned, s := range map[string]CountedTable{"": {Table: "t"}, "eu-west-1": got} {
		var log bytes.Buffer
		s.Warn(slog.New(slog.NewTextHandler(&log, nil)))
		if !strings.Contains(log.String(), warned) || (log.Len() > 0) != (warned != "") {
			t.Errorf("logged %s, want %q", log.String(), warned)
		}
	}
}
