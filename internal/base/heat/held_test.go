package heat_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/require"
)

// heldItems returns the items of quiet windows of one stream shard, with a number of keys each.
func heldItems(windows, keys int) (items []heat.Item) {
	for n := range windows {
		it := heat.Item{
			Own: "events", Start: noon.Add(time.Duration(n) * 10 * time.Second), Window: 10 * time.Second, StreamShard: "hotshard-events/shardId-00000001767589200000-abcdef01",
			Limit: 1000, HotRate: 700, Rest: 1, Incomplete: n == 1, IndexUnits: map[string]uint64{"by_rank": 3},
		}
		for k := range keys {
			units := uint64(1 + k)
			it.Keys = append(it.Keys, heat.Key{Key: fmt.Sprintf("E#sensor-%d#2026-01-05#0", (n+k)%(2*keys)), Units: units, Err: 1, Writes: units, PeakAt: it.Start})
			it.Records, it.Units = it.Records+units, it.Units+units
		}
		items = append(items, it)
	}
	return items
}

// heldWindows decodes all windows of a stored item.
func heldWindows(t *testing.T, stored map[string]types.AttributeValue) (items []heat.Item) {
	t.Helper()
	list, _, err := heat.Open(stored)
	require.NoError(t, err)
	held := list[0]
	for held.More() {
		it, err := held.Next()
		require.NoError(t, err)
		items = append(items, it)
	}
	return items
}

// TestHeldForm checks that windows that are stored together decode to the same items, and that their item costs one
// write unit at most. The rest bounds the keys that don't fit.
func TestHeldForm(t *testing.T) {
	want := heldItems(6, 2)
	got := heldWindows(t, heat.StoredHeld(want, noon.Add(time.Hour)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	many := heldItems(30, heat.HeldKeys)
	stored := heat.StoredHeld(many, noon.Add(time.Hour))
	if size := dynamo.Size(stored); size > 1024 {
		t.Errorf("an item of 30 windows has %d bytes, want at most 1024", size)
	}
	for i, it := range heldWindows(t, stored) {
		listed := map[string]uint64{}
		for _, k := range it.Keys {
			listed[k.Key] = k.Units
		}
		if it.Units != many[i].Units || it.Records != many[i].Records {
			t.Errorf("window %d: %d units in %d records, want %d in %d", i, it.Units, it.Records, many[i].Units, many[i].Records)
		}
		for _, k := range many[i].Keys {
			if n, ok := listed[k.Key]; ok && n != k.Units || !ok && it.Rest < k.Units+k.Err {
				t.Errorf("window %d: %s has %d units, rest %d; want %d units, or a rest of %d or more", i, k.Key, n, it.Rest, k.Units, k.Units+k.Err)
			}
		}
	}
	state, err := heat.DecodeHeld(heat.EncodeHeld(many), "s")
	if err != nil || len(state) != 30 || state[7].Units != many[7].Units || state[7].StreamShard != "s" || len(state[7].Keys) != heat.HeldKeys {
		t.Errorf("a state decodes to %d windows, %v; want the 30 encoded ones", len(state), err)
	}
}

// TestDamagedHeld checks that held windows that are cut anywhere, or are no held windows, are errors.
func TestDamagedHeld(t *testing.T) {
	b, err := base64.StdEncoding.DecodeString(heat.EncodeHeld(heldItems(3, 4)))
	require.NoError(t, err)
	for n := range b {
		items, err := heat.DecodeHeld(base64.StdEncoding.EncodeToString(b[:n]), "s")
		if err == nil && len(items) == 3 {
			t.Errorf("%d of %d bytes decode to all windows", n, len(b))
		}
	}
	if _, err := heat.DecodeHeld("?", "s"); err == nil {
		t.Error("DecodeHeld accepts a text that is not base64")
	}
	if _, _, err := heat.Open(map[string]types.AttributeValue{"sk": &types.AttributeValueMemberS{Value: "x"}}); err == nil {
		t.Error("Open accepts an item without windows")
	}
}
