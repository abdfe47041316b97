package heat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/heat"
)

// TestFormerForm: items without keys of indexes are as they were before there were
// any, and are read.
func TestFormerForm(t *testing.T) {
	item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Rest: 3, Keys: []heat.Key{{Key: "k", Units: 300, Err: 1, Peak: 2, PeakAt: noon.Add(time.Second), Status: heat.Hot}}}
	attributes := item.Attributes(noon)
	if packed := attributes["keys"].(*types.AttributeValueMemberB).Value; string(packed) != "\x01k\xac\x02\x01\x02\x02\x01" || attributes["indexes"] != nil {
		t.Errorf("keys are %q, indexes %v", packed, attributes["indexes"])
	}
	if got, err := heat.Parse(attributes); err != nil || !cmp.Equal(item, got) {
		t.Errorf("%v, %+v", err, got)
	}
	item.Keys = append(item.Keys, heat.Key{Index: "i", Key: "k", Units: 5, PeakAt: noon})
	attributes = item.Attributes(noon)
	if packed := attributes["indexes"].(*types.AttributeValueMemberB).Value; string(packed) != "\x00\x01i\x01k\x05\x00\x00\x00\x00" {
		t.Errorf("indexes are %q", packed)
	}
	for _, damaged := range []types.AttributeValue{&types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberB{Value: []byte("\x00\x01i\x09k")}, &types.AttributeValueMemberB{}} {
		attributes["indexes"] = damaged
		if _, err := heat.Parse(attributes); err == nil || !strings.Contains(err.Error(), "indexes is missing or damaged") {
			t.Errorf("%v: %v", damaged, err)
		}
	}
}

// TestTrimIndexes: keys of indexes are bounded by themselves.
func TestTrimIndexes(t *testing.T) {
	for _, c := range []struct{ keys, keyBytes, want int }{{heat.MaxIndexKeys + 1, 20, heat.MaxIndexKeys}, {100, 2000, 24}} {
		item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Rest: 7, IndexRest: 2, Keys: []heat.Key{{Key: "k", Units: 1, PeakAt: noon}}}
		for i := range c.keys {
			item.Keys = append(item.Keys, heat.Key{Index: "i", Key: fmt.Sprintf("%0*d", c.keyBytes, i), Units: uint64(i), Err: 3, PeakAt: noon})
		}
		got, err := heat.Parse(item.Attributes(noon))
		if err != nil || len(got.Keys) != 1+c.want || got.Keys[1].Units != uint64(c.keys-1) || got.Rest != 7 || got.IndexRest != uint64(c.keys-c.want-1)+3 {
			t.Errorf("%d keys: %v, %d kept, rest %d and %d", c.keys, err, len(got.Keys)-1, got.Rest, got.IndexRest)
		}
	}
}
