package ddbstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/throttle/jsonitem"
)

// image decodes an item from a payload.
func image(t *testing.T, item string) ddbstream.Image {
	t.Helper()
	return decode(t, `{"Records":[`+record("INSERT", `"SequenceNumber":"1","Keys":{},"NewImage":`+item)+`]}`).Records[0].New
}

// wantSize checks an item's size by the scanner, which has its JSON, and by dynamo.Size, which has its attribute values.
func wantSize(t *testing.T, item string, want int) {
	t.Helper()
	if got, err := image(t, item).Size(); got != want || err != nil {
		t.Errorf("%s: %d, %v; want %d", item, got, err, want)
	}
	var values dynamo.Item
	if err := json.Unmarshal([]byte(item), &values, jsonitem.Codec, jsontext.AllowInvalidUTF8(true)); err != nil {
		t.Errorf("%s: %v", item, err)
	}
	if got := dynamo.Size(values); got != want {
		t.Errorf("%s: dynamo.Size is %d, want %d", item, got, want)
	}
}

// TestNumberSize checks the sizes that DynamoDB Local 1.25.1 and 3.3.1 reported for these numbers, as SizeBytes of stream
// records.
func TestNumberSize(t *testing.T) {
	const long = "12345678901234567890123456789012345678"
	measured := map[string]int{
		"0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "12345": 4, "-1": 3, "-12": 3, "-123": 4, "-1234": 4,
		"100": 2, "1000": 2, "120": 3, "1200": 2, "12000": 3, "101": 3, "1001": 3, "10001": 4,
		"1.5": 3, "0.5": 2, "0.05": 2, "0.005": 2, "12.3": 3, "1.23": 3, "0.123": 3, "10.01": 3, "-0.5": 3, "0.12": 2, "0.012": 3,
		"1e10": 2, "1E11": 2, "1.5e-10": 3, "1.5e-11": 2, "-1e125": 3, "1e-130": 2, "-1.5E-129": 3,
		long: 20, "-" + long: 21, long[:1] + "." + long[1:]: 21, "-" + long[:1] + "." + long[1:]: 21, "-" + long + "0": 21, long + "00": 20,
		"1793491200123456": 9,
	}
	for number, want := range measured {
		wantSize(t, `{"n":{"N":"`+number+`"}}`, 1+want)
	}
}

// TestDocumentSize checks sizes that DynamoDB Local reported. Those of nested documents are calculated.
func TestDocumentSize(t *testing.T) {
	cases := []struct {
		item string
		want int
	}{
		{`{}`, 0},
		{`{"aé":{"S":"\u00e9\n"}}`, 3 + 3},
		{`{"a":{"S":"\ud800"}}`, 1 + 3},
		{`{"a":{"L":[]}}`, 1 + 3},
		{`{"a":{"L":[{"S":"a"}]}}`, 1 + 5},
		{`{"a":{"M":{"k":{"S":"a"}}}}`, 1 + 6},
		{`{"a":{"M":{"k":{"L":[{"NULL":true}, {"M":{}}]}}}}`, 1 + 3 + 1 + 1 + 3 + 2 + 4},
		{`{"a":{"NULL":true},"b":{"BOOL":false}}`, 4},
		{`{"a":{"SS":["a","bc"]}}`, 4},
		{`{"a":{"NS":["1","-2"]}}`, 6},
		{`{"a":{"B":"YWJj"}}`, 4},
		{`{"a":{"BS":["YWJj","ZA=="]}}`, 5},
		{`{"a":{"S":""}}`, 1},
		{`{"a":{"L":[{"S":"ab"},{"N":"1"}]}}`, 1 + 3 + 2 + 2 + 2},
	}
	for _, c := range cases {
		wantSize(t, c.item, c.want)
	}
}

// TestSizeMalformed checks the errors for the size of malformed items.
func TestSizeMalformed(t *testing.T) {
	cases := []struct{ item, want string }{
		{`{"a":5}`, "want {"},
		{`{"a":{}}`, "0 types"},
		{`{"a":{"S":"a","N":"1"}}`, "2 types"},
		{`{"a":{"X":"a"}}`, "unknown type"},
		{`{"a":{"S":5}}`, "want a string"},
		{`{"a":{"N":"one"}}`, "not a number"},
		{`{"a":{"N":""}}`, "not a number"},
		{`{"a":{"N":"1e"}}`, "not a number"},
		{`{"a":{"N":"1e9999999999"}}`, "not a number"},
		{`{"a":{"N":"1e9999"}}`, "not a number"},
		{`{"a":{"N":"1.2.3"}}`, "not a number"},
		{`{"a":{"B":"?"}}`, "base64"},
		{`{"a":{"BS":[1]}}`, "want a string"},
		{`{"a":{"BOOL":"true"}}`, "want a boolean"},
		{`{"a":{"SS":"x"}}`, "want ["},
		{`{"a":{"L":{}}}`, "want ["},
		{`{"a":{"M":[]}}`, "want {"},
		{`{"a":` + strings.Repeat(`{"L":[`, 70) + strings.Repeat(`]}`, 70) + `}`, "nested more than"},
	}
	for _, c := range cases {
		img := image(t, c.item)
		size, err := img.Size()
		if err == nil || size != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d, %v; want an error with %q", c.item, size, err, c.want)
		}
		if s, ok := img.Key("a"); ok && !strings.Contains(c.want, "number") && c.want != "base64" {
			t.Errorf("%s: a = %q", c.item, s)
		}
	}
}

// TestWriteUnits checks that a record costs a unit for each started KB of the larger image, and at least one.
func TestWriteUnits(t *testing.T) {
	item := func(size int) string { return `{"a":{"S":"` + strings.Repeat("x", size-1) + `"}}` }
	cases := []struct {
		change string
		want   int
	}{
		{``, 1}, // KEYS_ONLY
		{`,"NewImage":` + item(1024), 1},
		{`,"NewImage":` + item(1025), 2},
		{`,"NewImage":` + item(10) + `,"OldImage":` + item(2049), 3},
		{`,"NewImage":` + item(400*1024) + `,"OldImage":` + item(1), 400},
	}
	for _, c := range cases {
		batch := decode(t, `{"Records":[`+record("MODIFY", `"SequenceNumber":"1","Keys":{}`+c.change)+`]}`)
		if got, err := batch.Records[0].WriteUnits(); got != c.want || err != nil {
			t.Errorf("%.80s: %d, %v; want %d", c.change, got, err, c.want)
		}
	}
	batch := decode(t, `{"Records":[`+record("MODIFY", `"SequenceNumber":"77","Keys":{},"OldImage":{"a":{"S":1}}`)+`]}`)
	if _, err := batch.Records[0].WriteUnits(); err == nil || !strings.Contains(err.Error(), "record 77") {
		t.Errorf("a malformed image: %v", err)
	}
}

// TestVectors restates Parity Suite's cases: a dimension of a vector has four bytes, whatever its number is.
func TestVectors(t *testing.T) {
	for _, dimensions := range []int{3, 6, 1024} {
		for _, number := range []string{"0", "1", "1E-30", "12345678901234567890123456789012345678"} {
			list := strings.Repeat(`{"N":"`+number+`"},`, dimensions)
			vectors := []ddbstream.Vector{{Attribute: "embedding", Dimensions: dimensions}, {Attribute: "absent", Dimensions: 9}}
			least := len("pkp"+"embedding"+"pad") + 4*dimensions // with an empty pad
			blocks := least/1024 + 1
			for extra, want := range []int{blocks, blocks + 1} {
				item := fmt.Sprintf(`{"pk":{"S":"p"},"embedding":{"L":[%s]},"pad":{"S":"%s"}}`, strings.TrimSuffix(list, ","), strings.Repeat("x", 1024*blocks-least+extra))
				inserted, removed := change(t, "", item, ""), change(t, item, "", "")
				for _, rec := range []*ddbstream.Record{&inserted, &removed} {
					if units, err := rec.WriteUnits(vectors...); units != want || err != nil {
						t.Errorf("%d dimensions of %s, %d B: %d units, %v, want %d", dimensions, number, 1024*blocks+extra, units, err, want)
					}
				}
			}
		}
	}
	text := change(t, "", `{"pk":{"S":"p"},"embedding":{"S":"`+strings.Repeat("x", 2000)+`"}}`, "")
	if units, err := text.WriteUnits(ddbstream.Vector{Attribute: "embedding", Dimensions: 1024}); units != 2 || err != nil {
		t.Errorf("a string in place of the vector: %d units, %v; want 2", units, err)
	}
}

// parityVectors are the vector indexes of Parity Suite's table, and one with a partition key and a filter.
func parityVectors() (list []ddbstream.VectorIndex) {
	named := func(name string) *string { return &name }
	for _, x := range []struct {
		name, attribute string
		dimensions      int64
		projection      types.ProjectionType
		search          []types.SearchSchemaElement
	}{
		{"vix", "embedding", 3, types.ProjectionTypeAll, nil},
		{"vkeys", "embedding", 3, types.ProjectionTypeKeysOnly, nil},
		{"vdims", "sixdimvec", 6, types.ProjectionTypeAll, nil},
		{"vname", "embeddingWithALongerName", 3, types.ProjectionTypeAll, nil},
		{"placed", "placed", 3, types.ProjectionTypeKeysOnly, []types.SearchSchemaElement{
			{AttributeName: named("place"), SearchSchemaElementType: types.SearchSchemaElementTypeHash},
			{AttributeName: named("colour"), SearchSchemaElementType: types.SearchSchemaElementTypeInlineFilter},
		}},
	} {
		list = append(list, ddbstream.DescribeVectorIndex(
			[]types.KeySchemaElement{{AttributeName: named("pk"), KeyType: types.KeyTypeHash}},
			types.VectorIndexDescription{
				IndexName: &x.name, VectorAttribute: &types.VectorAttributeDefinition{AttributeName: &x.attribute}, Dimensions: &x.dimensions,
				Projection: &types.Projection{ProjectionType: x.projection}, SearchSchema: x.search,
			},
		))
	}
	return list
}

// TestVectorWrites restates what Parity Suite measured on AWS in tests/tier2/vectorSearch/consumedCapacity.test.ts of
// github.com/paritysuite/dynamodb-conformance: VectorWriteRequestBytes is the size of the projected entry, with four bytes
// of each dimension, and at least 1,024. A write that changes nothing projected costs nothing. That the vector and the
// partition key decide whether an item is in the index is in AWS's VectorSearchDataSync.html. Its guide does not size a
// delete or a move, which count as in other indexes.
func TestVectorWrites(t *testing.T) {
	item := func(more string) string { return `{"pk":{"S":"p1"}` + more + `}` }
	vector := func(name string, numbers int) string {
		return `,"` + name + `":{"L":[` + strings.Repeat(`{"N":"0.12345678901234567890"},`, numbers-1) + `{"N":"1"}]}`
	}
	text := func(name string, size int) string { return `,"` + name + `":{"S":"` + strings.Repeat("x", size) + `"}` }
	blob, three := text("blob", 1500), vector("embedding", 3)
	entry := len("pk"+"p1"+"blob") + 1500 // without the vector
	place := func(name string) string {
		return vector("placed", 3) + `,"place":{"S":"` + name + `"},"colour":{"S":"red"}`
	}
	w := func(index, key string, bytes int) secondary.Write {
		return secondary.Write{Index: index, Key: []byte(key), Bytes: bytes}
	}
	d := func(index, key string, bytes int) secondary.Write {
		return secondary.Write{Index: index, Key: []byte(key), Bytes: bytes, Old: true}
	}
	for name, c := range map[string]struct {
		old, new, more string
		want           []secondary.Write
	}{
		"no vector":                {new: item(blob)},
		"no list":                  {new: item(text("embedding", 9))},
		"the floor":                {new: item(three), want: []secondary.Write{w("vix", "", 1024), w("vkeys", "", 1024)}},
		"the floor of each index":  {new: item(blob + three), want: []secondary.Write{w("vix", "", entry+len("embedding")+12), w("vkeys", "", 1024)}},
		"four bytes a dimension":   {new: item(blob + vector("sixdimvec", 6)), want: []secondary.Write{w("vdims", "", entry+len("sixdimvec")+24)}},
		"the vector's name":        {new: item(blob + vector("embeddingWithALongerName", 3)), want: []secondary.Write{w("vname", "", entry+len("embeddingWithALongerName")+12)}},
		"another attribute":        {new: item(blob + three + text("note", 1)), want: []secondary.Write{w("vix", "", entry+len("embedding")+12+len("note")+1), w("vkeys", "", 1024)}},
		"not projected":            {old: item(three + text("note", 6)), new: item(three + text("note", 7)), want: []secondary.Write{w("vix", "", 1024)}},
		"another vector":           {old: item(three), new: item(vector("embedding", 4)), want: []secondary.Write{w("vix", "", 1024), w("vkeys", "", 1024)}},
		"the vector leaves":        {old: item(blob + three), new: item(blob), want: []secondary.Write{d("vix", "", entry+len("embedding")+12), d("vkeys", "", 1024)}},
		"a delete":                 {old: item(three), want: []secondary.Write{d("vix", "", 1024), d("vkeys", "", 1024)}},
		"an expired item":          {old: item(three), more: `"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},`},
		"no partition key":         {new: item(vector("placed", 3))},
		"a partition key":          {new: item(place("de") + blob), want: []secondary.Write{w("placed", "de", 1024)}},
		"the filter changes":       {old: item(place("de")), new: item(strings.Replace(place("de"), "red", "blue", 1)), want: []secondary.Write{w("placed", "de", 1024)}},
		"the partition moves":      {old: item(place("de")), new: item(place("fr")), want: []secondary.Write{d("placed", "de", 1024), w("placed", "fr", 1024)}},
		"neither key nor filter":   {old: item(place("de")), new: item(place("de") + blob)},
		"a large filter is stored": {new: item(vector("placed", 3) + text("place", 1) + text("colour", 2000)), want: []secondary.Write{w("placed", "x", len("pk"+"p1"+"placed"+"place"+"x"+"colour")+2000+12)}},
	} {
		rec := change(t, c.old, c.new, c.more)
		var writes secondary.Writes
		err := rec.VectorWrites(&writes, parityVectors())
		if diff := cmp.Diff(c.want, writes.List, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
