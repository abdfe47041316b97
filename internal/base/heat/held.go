package heat

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
)

// Bounds of windows that are stored together.
const (
	// MaxHold is the longest time whose windows are stored together. A stored item never crosses a multiple of MaxHold.
	MaxHold = 5 * time.Minute

	// HeldKeys is the number of keys that a held window keeps, of the table and of indexes each. Windows that are stored
	// together keep only keys that fit into heldBytes, so that an item takes one write unit.
	HeldKeys  = 16
	heldBytes = 540

	// BusyKeys is the number of heaviest keys that a window stored alone keeps while quiet windows are held, of the
	// table and of indexes each. Many stream shards' windows together still have more keys than a minute keeps.
	BusyKeys = 32
)

// StoredHeld returns the attributes of one item with several windows of a stream shard; TTL deletes it some time after
// expires. The windows are one or more, in order, between two multiples of [MaxHold]. The item keeps the heaviest keys
// that fit; the others are in the windows' rests.
func StoredHeld(items []Item, expires time.Time) map[string]types.AttributeValue {
	pk, sk := items[0].key()
	items = slices.Clone(items)
	items[0].Part = "" // the sort key has it
	windows := encode(items, true)
	for maxKeys := 2*HeldKeys - 1; maxKeys > 0 && len(windows) > heldBytes; maxKeys-- { // a window has up to 2*HeldKeys
		windows = encode(keepHeaviest(items, maxKeys), true)
	}
	return record.Item(stored{
		Key: record.Key{PK: pk, SK: sk}, Version: version, Windows: windows, Expires: expires.Unix(),
	})
}

// keepHeaviest returns the items with only their heaviest keys by units in all items: at most maxKeys different keys. The
// rests of the items also bound the other keys' units.
func keepHeaviest(items []Item, maxKeys int) []Item {
	weights := make(map[name]uint64)
	for i := range items {
		for _, k := range items[i].Keys {
			weights[name{k.Index, k.Key}] += k.Units
		}
	}
	names := slices.SortedFunc(maps.Keys(weights), func(a, b name) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), strings.Compare(a.key, b.key), strings.Compare(a.index, b.index))
	})
	kept := make(map[name]bool)
	for _, n := range names[:min(maxKeys, len(names))] {
		kept[n] = true
	}
	items = slices.Clone(items)
	for i := range items {
		it, keys := &items[i], items[i].Keys
		it.Keys = nil
		for _, k := range keys {
			switch {
			case kept[name{k.Index, k.Key}]:
				it.Keys = append(it.Keys, k)
			case k.Index != "":
				it.IndexRest = max(it.IndexRest, k.Units+k.Err)
			default:
				it.Rest = max(it.Rest, k.Units+k.Err)
			}
		}
	}
	return items
}

// EncodeHeld returns one or more windows as text, for a tumbling window's state.
func EncodeHeld(items []Item) string {
	return base64.StdEncoding.EncodeToString(encode(items, true))
}

// DecodeHeld decodes windows of a stream shard that [EncodeHeld] encoded.
func DecodeHeld(text, streamShard string) (items []Item, err error) {
	windows, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	d := newDecoder(windows)
	d.common.StreamShard = streamShard
	for d.More() {
		it, err := d.Next()
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, d.fault()
}
