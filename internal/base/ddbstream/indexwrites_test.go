package ddbstream_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
)

// texts is an item whose attributes are strings.
type texts map[string]string

func (i texts) Present() bool { return i != nil }

func (i texts) Key(attribute string) ([]byte, bool) {
	text, ok := i[attribute]
	return []byte(text), ok
}

func (i texts) SameIn(other texts, attributes []string) bool {
	return attributes != nil && !slices.ContainsFunc(attributes, func(a string) bool { return i[a] != other[a] })
}

func (i texts) SizeIn([]string) (int, error) { return 1, nil }

// TestDifferentItemsHaveDifferentKeys checks that two items have the same index key only if all its attributes are the
// same. They may have separators and backslashes.
func TestDifferentItemsHaveDifferentKeys(t *testing.T) {
	require.Checks(t, 1000)
	x := ddbstream.Index{Partition: []string{"a", "b", "c"}}
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.Custom(func(t *rapid.T) texts {
			i := texts{}
			for _, attribute := range x.Partition {
				i[attribute] = rapid.StringMatching(`[|\\x]{1,3}`).Draw(t, attribute)
			}
			return i
		})
		one, other := item.Draw(t, "one"), item.Draw(t, "other")
		k, ok := ddbstream.IndexKey(&x, one)
		l, also := ddbstream.IndexKey(&x, other)
		if !ok || !also || (string(k) == string(l)) != cmp.Equal(one, other) {
			t.Fatalf("%v has the key %s, %v the key %s", one, k, other, l)
		}
	})
}

// TestDescribe checks the index that follows from DescribeTable's key schemas and each projection.
func TestDescribe(t *testing.T) {
	schema := func(partition, sort []string) (list []types.KeySchemaElement) {
		for _, name := range sort { // DescribeTable may list sort keys first
			list = append(list, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: types.KeyTypeRange})
		}
		for _, name := range partition {
			list = append(list, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: types.KeyTypeHash})
		}
		return list
	}
	table, keys := schema([]string{"pk"}, []string{"sk"}), schema([]string{"d", "c", "b", "a"}, []string{"z", "sk"})
	x := ddbstream.Index{Name: "x", Partition: []string{"d", "c", "b", "a"}, Sort: []string{"z", "sk"}}
	for kind, projected := range map[types.ProjectionType][]string{
		types.ProjectionTypeAll:      nil,
		types.ProjectionTypeKeysOnly: {"a", "b", "c", "d", "pk", "sk", "z"},
		types.ProjectionTypeInclude:  {"a", "b", "c", "d", "pk", "sk", "tag", "z"},
	} {
		x.Projected = projected
		projection := &types.Projection{ProjectionType: kind}
		if kind == types.ProjectionTypeInclude {
			projection.NonKeyAttributes = []string{"tag"}
		}
		if diff := cmp.Diff(x, ddbstream.DescribeIndex("x", table, keys, projection)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
