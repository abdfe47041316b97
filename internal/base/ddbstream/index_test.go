package ddbstream_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/secondary"
)

// indexes has indexes of all projections, with keys of one to four attributes.
var indexes = []secondary.Index{
	secondary.New("all", []string{"g"}, []string{"r"}, tableKeys, nil),
	secondary.New("some", []string{"g"}, []string{"r"}, tableKeys, []string{"a"}),
	secondary.New("keys", []string{"r"}, []string{"g"}, tableKeys, []string{}),
	secondary.New("three", []string{"k", "g", "m"}, []string{"r"}, tableKeys, []string{"a"}),
	secondary.New("four", []string{"m", "k", "r", "g"}, nil, tableKeys, nil),
	secondary.New("sorted", []string{"m"}, []string{"g", "r", "k", "n"}, tableKeys, []string{}),
}

var tableKeys = []string{"pk", "sk"}

// TestIndexWrites checks the writes of a change in indexes of each projection.
func TestIndexWrites(t *testing.T) {
	table, g, r := []string{"pk"}, []string{"g"}, []string{"r"}
	all := []secondary.Index{secondary.New("all", g, r, table, nil)}
	keys := []secondary.Index{secondary.New("keys", g, nil, table, []string{})}
	some := []secondary.Index{secondary.New("some", g, r, table, []string{"a"})}
	item := func(more string) string { return `{"pk":{"S":"p"}` + more + `}` }
	entry := func(g, r, more string) string { return item(`,"g":{"S":"` + g + `"},"r":{"N":"` + r + `"}` + more) }
	large := `,"a":{"S":"` + strings.Repeat("x", 2000) + `"}`
	large3 := `,"a":{"S":"` + strings.Repeat("x", 3000) + `"}`
	w := func(key string, units int) secondary.Write {
		return secondary.Write{Key: []byte(key), Units: units}
	}
	d := func(key string, units int) secondary.Write { // removes the old entry
		return secondary.Write{Key: []byte(key), Units: units, Old: true}
	}
	for name, c := range map[string]struct {
		indexes  []secondary.Index
		old, new string // images; "" if absent
		want     []secondary.Write
	}{
		"put":                    {all, "", entry("x", "1", ""), []secondary.Write{w("x", 1)}},
		"delete":                 {all, entry("x", "1", ""), "", []secondary.Write{d("x", 1)}},
		"outside":                {all, item(""), item(`,"a":{"S":"g"}`), nil},
		"half a key":             {all, "", item(`,"g":{"S":"x"}`), nil},
		"the other half":         {all, item(`,"g":{"S":"x"}`), item(`,"r":{"N":"1"}`), nil},
		"moves in":               {all, item(""), entry("x", "1", ""), []secondary.Write{w("x", 1)}},
		"leaves":                 {all, entry("x", "1", ""), item(""), []secondary.Write{d("x", 1)}},
		"another rank":           {all, entry("x", "1", ""), entry("x", "2", ""), []secondary.Write{d("x", 1), w("x", 1)}},
		"another partition":      {all, entry("x", "1", ""), entry("y", "1", ""), []secondary.Write{d("x", 1), w("y", 1)}},
		"large, moves":           {all, entry("x", "1", large), entry("x", "2", large3), []secondary.Write{d("x", 2), w("x", 3)}},
		"stays, grows":           {all, entry("x", "1", ""), entry("x", "1", large3), []secondary.Write{w("x", 3)}},
		"stays, shrinks":         {all, entry("x", "1", large), entry("x", "1", ""), []secondary.Write{w("x", 2)}},
		"projected, changes":     {some, entry("x", "1", large), entry("x", "1", `,"a":{"S":"y"}`), []secondary.Write{w("x", 2)}},
		"projected, the same":    {some, entry("x", "1", large), entry("x", "1", large+`,"b":{"N":"1"}`), nil},
		"not projected":          {keys, entry("x", "1", ""), entry("x", "2", large), nil},
		"not projected, not big": {keys, entry("x", "1", large), entry("y", "1", large), []secondary.Write{d("x", 1), w("y", 1)}},
		"escaped":                {all, "", item(`,"\u0067":{"S":"x"},"r":{"N":"1"}`), []secondary.Write{w("x", 1)}},
		"an empty key":           {all, "", entry("", "1", ""), nil},
		"another type":           {all, "", item(`,"g":{"M":{}},"r":{"N":"1"}`), nil},
		"two indexes": {append(keys, all[0]), entry("x", "1", ""), entry("x", "2", ""),
			[]secondary.Write{d("x", 1), w("x", 1)}},
	} {
		rec := change(t, c.old, c.new, "")
		got, err := indexWritesOf(&rec, c.indexes)
		for i := range got {
			got[i].Index = ""
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func indexWritesOf(rec *ddbstream.Record, indexes []secondary.Index) ([]secondary.Write, error) {
	var writes secondary.Writes
	err := rec.IndexWrites(&writes, indexes)
	return writes.List, err
}

// change returns the record of a change between two images, which are absent if "".
func change(t *testing.T, before, after, more string) ddbstream.Record {
	t.Helper()
	name, images := "MODIFY", ""
	if before != "" {
		images += `,"OldImage":` + before
	} else {
		name = "INSERT"
	}
	if after != "" {
		images += `,"NewImage":` + after
	} else {
		name = "REMOVE"
	}
	payload := `{"Records":[{"eventName":"` + name + `",` + more + `"dynamodb":{"SequenceNumber":"7","Keys":{"pk":{"S":"p"}}` + images + `}}]}`
	rec := decode(t, payload).Records[0]
	if rec.Err != nil {
		t.Fatal(rec.Err)
	}
	return rec
}

// TestIndexWritesUnknown checks that a removal by TTL and a missing image add no writes.
func TestIndexWritesUnknown(t *testing.T) {
	indexes := []secondary.Index{secondary.New("i", []string{"g"}, nil, []string{"pk"}, nil)}
	item := `{"pk":{"S":"p"},"g":{"S":"x"}}`
	expired := change(t, item, "", `"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},`)
	half := change(t, item, item, "")
	half.Old = ddbstream.Image{}
	inserted, removed := change(t, "", item, ""), change(t, item, "", "")
	inserted.New, removed.Old = ddbstream.Image{}, ddbstream.Image{}
	for name, rec := range map[string]ddbstream.Record{"expired": expired, "new image only": half, "keys only": inserted, "removed, keys only": removed} {
		if got, err := indexWritesOf(&rec, indexes); len(got) > 0 || err != nil {
			t.Errorf("%s: %v, %v; want no writes", name, got, err)
		}
	}
	broken := change(t, "", `{"g":{"S":"x"},"a":{"Q":1}}`, "")
	if _, err := indexWritesOf(&broken, indexes); err == nil || !strings.Contains(err.Error(), "record 7") {
		t.Errorf("a malformed image: %v", err)
	}
}

// FuzzIndexWrites compares index writes with those that stockIndexWrites derives from the stock decoder's images.
func FuzzIndexWrites(f *testing.F) { fuzz(f, genIndexChange, indexWrites) }

func genIndexChange(t *rapid.T) string {
	change := map[string]string{"SequenceNumber": `"1"`, "Keys": genObject(t, map[string]string{"pk": `{"S":"p"}`})}
	name := rapid.SampledFrom([]string{"INSERT", "MODIFY", "REMOVE"}).Draw(t, "name")
	if name != "INSERT" {
		change["OldImage"] = genIndexed(t)
	}
	if name != "REMOVE" {
		change["NewImage"] = genIndexed(t)
	}
	return `{"Records":[{"eventName":"` + name + `","dynamodb":` + genObject(t, change) + `}]}`
}

func indexWrites(payload string) error {
	batch, err := ddbstream.Decode([]byte(payload))
	if err != nil {
		return fmt.Errorf("%w: %s", err, payload)
	}
	var stock events.DynamoDBEvent
	if err := json.Unmarshal([]byte(payload), &stock); err != nil {
		return fmt.Errorf("stock: %w: %s", err, payload)
	}
	got, err := indexWritesOf(&batch.Records[0], indexes)
	if err != nil {
		return fmt.Errorf("%w: %s", err, payload)
	}
	var want []secondary.Write
	for _, x := range indexes {
		want = append(want, stockIndexWrites(x, stock.Records[0].Change)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-stock +got):\n%s", payload, diff)
	}
	return nil
}

// genIndexed generates an item that may have entries in indexes.
func genIndexed(t *rapid.T) string {
	item := map[string]string{"pk": `{"S":"p"}`}
	for _, attr := range []string{"g", "r", "k", "m", "n"} {
		if value := rapid.SampledFrom([]string{"", "1", "2", `1|\`}).Draw(t, attr); value != "" {
			kind := rapid.SampledFrom([]string{"S", "S", "S", "N", "M", "B"}).Draw(t, "type")
			item[attr] = map[string]string{"S": `{"S":` + genText(t, value) + `}`, "N": `{"N":"` + value[:1] + `"}`, "M": `{"M":{}}`, "B": `{"B":"AAE="}`}[kind]
		}
	}
	for _, attr := range []string{"a", "b"} {
		if rapid.Bool().Draw(t, attr) {
			item[attr] = genValue(t, 1)
		}
	}
	return genObject(t, item)
}

type stockItem = map[string]events.DynamoDBAttributeValue

// stockIndexWrites returns the writes of a change in one index.
func stockIndexWrites(x secondary.Index, change events.DynamoDBStreamRecord) (writes []secondary.Write) {
	before, after := stockEntry(x, change.OldImage), stockEntry(x, change.NewImage)
	write := func(old bool, entries ...stockItem) {
		units := 1
		for _, e := range entries {
			units = max(units, (stockSize(e)+1023)/1024)
		}
		writes = append(writes, secondary.Write{Index: x.Name, Key: []byte(stockJoined(entries[0], x.Partition)), Units: units, Old: old})
	}
	same := func(attributes []string) bool {
		return !slices.ContainsFunc(attributes, func(a string) bool { return stockKey(before, a) != stockKey(after, a) })
	}
	switch {
	case before != nil && after != nil && same(x.Partition) && same(x.Sort):
		if x.Projected == nil || !cmp.Equal(before, after, cmp.Comparer(stockEqual)) {
			write(false, before, after)
		}
	default:
		for i, e := range []stockItem{before, after} {
			if e != nil {
				write(i == 0, e)
			}
		}
	}
	return writes
}

// stockEntry returns an item's entry in an index, or nil if it has none.
func stockEntry(x secondary.Index, item stockItem) stockItem {
	for _, attribute := range slices.Concat(x.Partition, x.Sort) {
		if stockKey(item, attribute) == "" {
			return nil
		}
	}
	entry := stockItem{}
	for name, value := range item {
		if x.Projected == nil || slices.Contains(x.Projected, name) {
			entry[name] = value
		}
	}
	return entry
}

// stockJoined returns the text of a partition key of one or more attributes.
func stockJoined(item stockItem, attributes []string) string {
	var texts []string
	for _, attribute := range attributes {
		text := stockKey(item, attribute)
		if len(attributes) > 1 {
			text = strings.NewReplacer(`\`, `\\`, `|`, `\|`).Replace(text)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "|")
}

func stockKey(item stockItem, attr string) string {
	v, ok := item[attr]
	switch {
	case ok && v.DataType() == events.DataTypeString:
		return v.String()
	case ok && v.DataType() == events.DataTypeNumber:
		return v.Number()
	case ok && v.DataType() == events.DataTypeBinary:
		return base64.StdEncoding.EncodeToString(v.Binary())
	}
	return ""
}

func stockEqual(a, b events.DynamoDBAttributeValue) bool {
	x, err1 := a.MarshalJSON()
	y, err2 := b.MarshalJSON()
	return err1 == nil && err2 == nil && string(x) == string(y)
}
