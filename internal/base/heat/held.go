package heat

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/packed"
)

// Bounds of windows that are stored together.
const (
	// MaxHold is the longest time whose windows are stored together. A stored item never crosses a multiple of MaxHold.
	MaxHold = 5 * time.Minute

	// HeldKeys is the number of keys that each window keeps, of the table and of indexes each. Windows that are stored
	// together keep only keys that fit into one write unit.
	HeldKeys  = 16
	heldBytes = 700

	// BusyKeys is the number of heaviest keys that a window stored alone keeps while quiet windows are held, of the
	// table and of indexes each. With so many stream shards, layers still have more keys than they keep.
	BusyKeys = 32
)

// storedHeld has the windows of one stream shard that were stored together.
type storedHeld struct {
	record.Key
	Version uint64 `dynamodbav:"v"`
	Table   string `dynamodbav:"table,omitempty"`
	Own     string `dynamodbav:"own,omitempty"`
	Shard   string `dynamodbav:"shard"`
	Limit   uint64 `dynamodbav:"limit"`      // hundredths of a unit a second
	Hot     uint64 `dynamodbav:"hot"`        // likewise
	Windows []byte `dynamodbav:"windows"`    // see packWindows
	Put     int64  `dynamodbav:"put"`        // Unix milliseconds
	Expires int64  `dynamodbav:"expires_at"` // Unix seconds
}

// StoredHeld returns the attributes of one item with several windows of a stream shard; TTL deletes it some time after
// expires. The windows are one or more, in order, between two multiples of [MaxHold]. The item keeps the heaviest keys
// that fit into one write unit; the others are in the windows' rests.
func StoredHeld(items []Item, put, expires time.Time) map[string]types.AttributeValue {
	first := &items[0]
	pk, sk := first.key()
	packedWindows := packWindows(items)
	for keys := 2 * HeldKeys; keys > 1 && len(packedWindows) > heldBytes; keys-- {
		packedWindows = packWindows(keepHeaviest(items, keys-1))
	}
	return record.Item(storedHeld{
		Key: record.Key{PK: heldPrefix + strings.TrimPrefix(pk, prefix), SK: sk}, Version: version,
		Table: first.Table, Own: first.Own, Shard: first.StreamShard,
		Limit: uint64(math.Round(first.Limit * 100)), Hot: uint64(math.Round(first.HotRate * 100)),
		Windows: packedWindows, Put: put.UnixMilli(), Expires: expires.Unix(),
	})
}

// name identifies a key of the table or of an index.
type name struct{ index, key string }

// keepHeaviest returns the items with at most most different keys: those with the most units over all items. The units
// of the others are in the rests.
func keepHeaviest(items []Item, most int) []Item {
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
	for _, n := range names[:min(most, len(names))] {
		kept[n] = true
	}
	items = slices.Clone(items)
	for i := range items {
		it := &items[i]
		it.Keys = slices.DeleteFunc(slices.Clone(it.Keys), func(k Key) bool {
			rest := &it.Rest
			if k.Index != "" {
				rest = &it.IndexRest
			}
			drop := !kept[name{k.Index, k.Key}]
			if drop {
				*rest = max(*rest, k.Units+k.Err)
			}
			return drop
		})
	}
	return items
}

// packWindows encodes the windows' length and the first start, in milliseconds. Each window follows: its start after
// the first, part, records, units, both rests, 1 if incomplete, the length and content of [packUnits], the number of
// keys, and for each key its name, units, err and writes. A new name is 0, the index and the key; a repeated one is its
// number, from 1. All numbers are varints.
func packWindows(items []Item) (b []byte) {
	names := make(map[name]uint64)
	b = binary.AppendUvarint(b, uint64(items[0].Window.Milliseconds()))
	b = binary.AppendUvarint(b, uint64(items[0].Start.UnixMilli()))
	for i := range items {
		it := &items[i]
		b = binary.AppendUvarint(b, uint64(it.Start.Sub(items[0].Start).Milliseconds()))
		b = packed.AppendText(b, it.Part)
		for _, n := range []uint64{it.Records, it.Units, it.Rest, it.IndexRest, 0} {
			b = binary.AppendUvarint(b, n)
		}
		if it.Incomplete {
			b[len(b)-1] = 1
		}
		indexes := packUnits(it.IndexUnits)
		b = append(binary.AppendUvarint(b, uint64(len(indexes))), indexes...)
		b = binary.AppendUvarint(b, uint64(len(it.Keys)))
		for _, k := range it.Keys {
			id := name{k.Index, k.Key}
			b = binary.AppendUvarint(b, names[id])
			if names[id] == 0 {
				b = packed.AppendText(packed.AppendText(b, k.Index), k.Key)
				names[id] = uint64(len(names)) + 1
			}
			for _, n := range []uint64{k.Units, k.Err, k.Writes} {
				b = binary.AppendUvarint(b, n)
			}
		}
	}
	return b
}

// Held decodes the windows of an item that [StoredHeld] encoded, one with each call of Next.
type Held struct {
	common Item // fields that all windows share, and the first window's start
	put    time.Time
	left   packed.Reader
	names  []name
}

// ParseHeld decodes an item that [StoredHeld] encoded. Errors name its sort key.
func ParseHeld(attributes map[string]types.AttributeValue) (*Held, error) {
	var s storedHeld
	err := read(attributes, &s)
	h := openHeld(s.Windows)
	if err = cmp.Or(err, h.left.Err); err != nil {
		return nil, fmt.Errorf("heat: item %q: %w", sortKey(attributes), err)
	}
	h.put = time.UnixMilli(s.Put)
	h.common.Table, h.common.Own, h.common.StreamShard = s.Table, s.Own, s.Shard
	h.common.Limit, h.common.HotRate = float64(s.Limit)/100, float64(s.Hot)/100
	if h.common.Window <= 0 || h.common.Limit <= 0 {
		return nil, fmt.Errorf("heat: item %q: its windows have no length or its partitions no limit", sortKey(attributes))
	}
	return h, nil
}

func openHeld(b []byte) *Held {
	h := &Held{left: packed.Reader{Left: b}}
	h.common.Window = time.Duration(h.left.Uint()) * time.Millisecond
	h.common.Start = time.UnixMilli(int64(h.left.Uint())).UTC()
	return h
}

// More reports whether there is another window.
func (h *Held) More() bool { return len(h.left.Left) > 0 }

var errHeld = errors.New("heat: windows that were stored together are damaged")

// Next returns the next window. Peaks are not stored: a key's Peak is its mean rate.
func (h *Held) Next() (Item, error) {
	it, r := h.common, &h.left
	it.Start = it.Start.Add(time.Duration(r.Uint()) * time.Millisecond)
	it.Part = r.Text()
	it.Records, it.Units, it.Rest, it.IndexRest, it.Incomplete = r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Uint() != 0
	it.Lag = max(0, h.put.Sub(it.End()))
	if n := r.Uint(); r.Err == nil && n > 0 {
		if n > uint64(len(r.Left)) {
			return it, errHeld
		}
		var err error
		if it.IndexUnits, err = unpackUnits(r.Left[:n]); err != nil {
			return it, err
		}
		r.Left = r.Left[n:]
	}
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		k, ok := h.key(&it)
		if !ok {
			break
		}
		it.Keys = append(it.Keys, k)
	}
	if r.Err != nil {
		r.Left = nil
		return it, cmp.Or(r.Err, errHeld)
	}
	return it, nil
}

// key decodes the next key of a window.
func (h *Held) key(it *Item) (k Key, ok bool) {
	r := &h.left
	number := r.Uint() // of a repeated name, from 1; 0 for a new one
	switch {
	case number == 0:
		k.Index, k.Key = r.Text(), r.Text()
		h.names = append(h.names, name{k.Index, k.Key})
	case number <= uint64(len(h.names)):
		k.Index, k.Key = h.names[number-1].index, h.names[number-1].key
	default:
		r.Err = errHeld
	}
	k.Units, k.Err, k.Writes = r.Uint(), r.Uint(), r.Uint()
	k.Peak, k.PeakAt = uint64(float64(k.Units)/it.Window.Seconds()), it.Start.Truncate(time.Second)
	return k, r.Err == nil
}

// AppendHeld encodes windows for a tumbling window's state, without the fields that all windows of a stream shard
// share.
func AppendHeld(items []Item) []byte { return packWindows(items) }

// ReadHeld decodes windows that [AppendHeld] encoded. common has the shared fields.
func ReadHeld(b []byte, common Item) (items []Item, err error) {
	h := openHeld(b)
	common.Start, common.Window = h.common.Start, h.common.Window
	h.common = common
	for h.More() && h.left.Err == nil {
		it, err := h.Next()
		if err != nil {
			return nil, err
		}
		it.Lag = 0
		items = append(items, it)
	}
	return items, h.left.Err
}

// heldPrefix begins the partition keys of windows that are stored together.
const heldPrefix = "Q#"

// HeldPartition reports whether a partition key has windows that were stored together.
func HeldPartition(pk string) bool { return strings.HasPrefix(pk, heldPrefix) }
