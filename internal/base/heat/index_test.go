package heat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestPackedForm pins the stored form of keys.
func TestPackedForm(t *testing.T) {
	item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Rest: 3, IndexRest: 4, Keys: []heat.Key{
		{Key: "k", Units: 300, Err: 1, Writes: 7, Peak: 2, PeakAt: noon.Add(time.Second)}, {Index: "i", Key: "k", Units: 5, PeakAt: noon},
	}}
	attributes := item.Stored(noon)
	keys := "\x03\x00\x01k\xac\x02\x01\x07\x02\x02" + "\x02\x01i\x01k\x05\x00\x00\x00"
	if packed := attributes["windows"].(*types.AttributeValueMemberB).Value; !strings.HasSuffix(string(packed), keys) {
		t.Errorf("windows are %q", packed)
	}
	if got, err := heat.Parse(attributes); err != nil || !cmp.Equal(item, got) {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestTrimIndexes checks that keys of indexes have their own bound.
func TestTrimIndexes(t *testing.T) {
	for _, c := range []struct{ keys, keyBytes, want int }{{heat.MaxIndexKeys + 1, 20, heat.MaxIndexKeys}, {100, 2000, 24}} {
		item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, Rest: 7, IndexRest: 2, Keys: []heat.Key{{Key: "k", Units: 1, PeakAt: noon}}}
		for i := range c.keys {
			item.Keys = append(item.Keys, heat.Key{Index: "i", Key: fmt.Sprintf("%0*d", c.keyBytes, i), Units: uint64(i), Err: 3, PeakAt: noon})
		}
		got, err := heat.Parse(item.Stored(noon))
		if err != nil || len(got.Keys) != 1+c.want || got.Keys[1].Units != uint64(c.keys-1) || got.Rest != 7 || got.IndexRest != uint64(c.keys-c.want-1)+3 {
			t.Errorf("%d keys: %v, %d kept, rest %d and %d", c.keys, err, len(got.Keys)-1, got.Rest, got.IndexRest)
		}
	}
}
