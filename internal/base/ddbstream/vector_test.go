package ddbstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/secondary"
)

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
