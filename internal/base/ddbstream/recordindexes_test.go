package ddbstream_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// TestIndexWrites checks the writes of a change in indexes of each projection.
func TestIndexWrites(t *testing.T) {
	table, g, r := []string{"pk"}, []string{"g"}, []string{"r"}
	all := []ddbstream.Index{ddbstream.NewIndex("all", g, r, table, nil)}
	keys := []ddbstream.Index{ddbstream.NewIndex("keys", g, nil, table, []string{})}
	some := []ddbstream.Index{ddbstream.NewIndex("some", g, r, table, []string{"a"})}
	three := []ddbstream.Index{ddbstream.NewIndex("three", []string{"k", "g", "m"}, r, table, []string{"a"})}
	item := func(more string) string { return `{"pk":{"S":"p"}` + more + `}` }
	entry := func(g, r, more string) string { return item(`,"g":{"S":"` + g + `"},"r":{"N":"` + r + `"}` + more) }
	large := `,"a":{"S":"` + strings.Repeat("x", 2000) + `"}`
	large3 := `,"a":{"S":"` + strings.Repeat("x", 3000) + `"}`
	w := func(key string, units int) ddbstream.IndexWrite {
		return ddbstream.IndexWrite{Key: []byte(key), Units: units}
	}
	for name, c := range map[string]struct {
		indexes  []ddbstream.Index
		old, new string // images; "" if absent
		want     []ddbstream.IndexWrite
	}{
		"put":                    {all, "", entry("x", "1", ""), []ddbstream.IndexWrite{w("x", 1)}},
		"delete":                 {all, entry("x", "1", ""), "", []ddbstream.IndexWrite{w("x", 1)}},
		"outside":                {all, item(""), item(`,"a":{"S":"g"}`), nil},
		"half a key":             {all, "", item(`,"g":{"S":"x"}`), nil},
		"the other half":         {all, item(`,"g":{"S":"x"}`), item(`,"r":{"N":"1"}`), nil},
		"moves in":               {all, item(""), entry("x", "1", ""), []ddbstream.IndexWrite{w("x", 1)}},
		"leaves":                 {all, entry("x", "1", ""), item(""), []ddbstream.IndexWrite{w("x", 1)}},
		"another rank":           {all, entry("x", "1", ""), entry("x", "2", ""), []ddbstream.IndexWrite{w("x", 1), w("x", 1)}},
		"another partition":      {all, entry("x", "1", ""), entry("y", "1", ""), []ddbstream.IndexWrite{w("x", 1), w("y", 1)}},
		"large, moves":           {all, entry("x", "1", large), entry("x", "2", large3), []ddbstream.IndexWrite{w("x", 2), w("x", 3)}},
		"stays, grows":           {all, entry("x", "1", ""), entry("x", "1", large3), []ddbstream.IndexWrite{w("x", 3)}},
		"stays, shrinks":         {all, entry("x", "1", large), entry("x", "1", ""), []ddbstream.IndexWrite{w("x", 2)}},
		"projected, changes":     {some, entry("x", "1", large), entry("x", "1", `,"a":{"S":"y"}`), []ddbstream.IndexWrite{w("x", 2)}},
		"projected, the same":    {some, entry("x", "1", large), entry("x", "1", large+`,"b":{"N":"1"}`), nil},
		"not projected":          {keys, entry("x", "1", ""), entry("x", "2", large), nil},
		"not projected, not big": {keys, entry("x", "1", large), entry("y", "1", large), []ddbstream.IndexWrite{w("x", 1), w("y", 1)}},
		"escaped":                {all, "", item(`,"\u0067":{"S":"x"},"r":{"N":"1"}`), []ddbstream.IndexWrite{w("x", 1)}},
		"an empty key":           {all, "", entry("", "1", ""), nil},
		"another type":           {all, "", item(`,"g":{"M":{}},"r":{"N":"1"}`), nil},
		"several attributes":     {three, "", item(`,"k":{"S":"1|2"},"g":{"S":"x\\y"},"m":{"N":"7"},"r":{"N":"1"}`), []ddbstream.IndexWrite{w(`1\|2|x\\y|7`, 1)}},
		"two of three":           {three, "", item(`,"k":{"S":"1"},"g":{"S":"x"},"r":{"N":"1"}`), nil},
		"one of three changes":   {three, entry("x", "1", `,"k":{"S":"1"},"m":{"N":"7"}`), entry("x", "1", `,"k":{"S":"2"},"m":{"N":"7"}`), []ddbstream.IndexWrite{w("1|x|7", 1), w("2|x|7", 1)}},
		"two indexes": {append(keys, all[0]), entry("x", "1", ""), entry("x", "2", ""),
			[]ddbstream.IndexWrite{w("x", 1), w("x", 1)}},
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

func indexWritesOf(rec *ddbstream.Record, indexes []ddbstream.Index) ([]ddbstream.IndexWrite, error) {
	var writes ddbstream.IndexWrites
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
	indexes := []ddbstream.Index{ddbstream.NewIndex("i", []string{"g"}, nil, []string{"pk"}, nil)}
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
