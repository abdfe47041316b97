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
