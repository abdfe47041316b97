package heat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/packed"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// version is the version of all stored forms.
const version = 1

// stored is an item of the heat table.
type stored struct {
	record.Key
	Version    uint64 `dynamodbav:"v"`
	Table      string `dynamodbav:"table,omitempty"`
	Own        string `dynamodbav:"own,omitempty"`
	Start      uint64 `dynamodbav:"start"`          // Unix milliseconds
	Window     uint64 `dynamodbav:"window"`         // milliseconds
	Base       uint64 `dynamodbav:"base,omitempty"` // milliseconds
	Shard      string `dynamodbav:"shard"`
	Part       string `dynamodbav:"part"`
	Records    uint64 `dynamodbav:"records"`
	Units      uint64 `dynamodbav:"units"`
	IndexUnits []byte `dynamodbav:"index_units,omitempty"` // see packUnits
	Limit      uint64 `dynamodbav:"limit"`                 // hundredths of a unit a second
	Hot        uint64 `dynamodbav:"hot"`                   // likewise
	Keys       []byte `dynamodbav:"keys"`                  // see pack
	Rest       uint64 `dynamodbav:"rest"`
	IndexRest  uint64 `dynamodbav:"index_rest"`
	Incomplete bool   `dynamodbav:"incomplete"`
	Lag        uint64 `dynamodbav:"lag,omitempty"` // milliseconds
	Expires    int64  `dynamodbav:"expires_at"`    // Unix seconds
}

// maxPackedNumbers is the packed size of a key without its texts: their lengths, four numbers and a time, of up to ten
// bytes each. A folded item's key takes maxPackedTop more.
const (
	maxPackedNumbers = 70
	maxPackedTop     = 30
)

// Stored returns the attributes of the item; TTL deletes it some time after expires. It keeps the heaviest keys:
// [MaxKeys], or as many as fit into about 100 KB, and of indexes [MaxIndexKeys] in 50 KB.
func (it *Item) Stored(expires time.Time) map[string]types.AttributeValue {
	pk, sk := it.key()
	kept := it.trimmed(cut{MaxKeys, math.Inf(1), maxBytes}, cut{MaxIndexKeys, math.Inf(1), maxIndexBytes})
	return kept.attributes(pk, sk, expires)
}

func (it *Item) attributes(pk, sk string, expires time.Time) map[string]types.AttributeValue {
	return record.Item(stored{
		Key:        record.Key{PK: pk, SK: sk},
		Version:    version,
		Table:      it.Table,
		Own:        it.Own,
		Start:      uint64(it.Start.UnixMilli()),
		Window:     uint64(it.Window.Milliseconds()),
		Base:       uint64(it.Base.Milliseconds()),
		Shard:      it.StreamShard,
		Part:       it.Part,
		Records:    it.Records,
		Units:      it.Units,
		IndexUnits: packUnits(it.IndexUnits),
		Limit:      uint64(math.Round(it.Limit * 100)),
		Hot:        uint64(math.Round(it.HotRate * 100)),
		Keys:       it.pack(),
		Rest:       it.Rest,
		IndexRest:  it.IndexRest,
		Incomplete: it.Incomplete,
		Lag:        uint64(max(0, it.Lag).Milliseconds()),
		Expires:    expires.Unix(),
	})
}

// pack encodes each key as: the index, or empty for the table's own; the key; units, err, writes, peak; the peak's
// second from the window's start. For a folded item the key's top, its error, and the milliseconds from the item's
// start to the top's window follow. All numbers are varints. Texts follow their length.
func (it *Item) pack() []byte {
	b := []byte{} // never nil: DynamoDB rejects that
	for _, k := range it.Keys {
		b = packed.AppendText(packed.AppendText(b, k.Index), k.Key)
		for _, n := range []uint64{k.Units, k.Err, k.Writes, k.Peak} {
			b = binary.AppendUvarint(b, n)
		}
		b = binary.AppendVarint(b, k.PeakAt.Unix()-it.Start.Unix())
		if it.Base > 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, k.Top), k.TopErr)
			b = binary.AppendVarint(b, k.TopAt.UnixMilli()-it.Start.UnixMilli())
		}
	}
	return b
}

// packUnits encodes the indexes in order, with their units. It returns nil if there are none.
func packUnits(units map[string]uint64) (b []byte) {
	for _, index := range slices.Sorted(maps.Keys(units)) {
		b = binary.AppendUvarint(packed.AppendText(b, index), units[index])
	}
	return b
}

// ErrVersion means that an item has the form of another release. Its text follows the item's version.
var ErrVersion = errors.New("is not known")

// Parse decodes an item that Stored encoded. An item of another version or a damaged one is an error that names its
// sort key.
func Parse(attributes map[string]types.AttributeValue) (Item, error) {
	it, err := parse(attributes)
	if err != nil {
		return Item{}, fmt.Errorf("heat: item %q: %w", sortKey(attributes), err)
	}
	return it, nil
}

func parse(attributes map[string]types.AttributeValue) (Item, error) {
	var s stored
	if err := read(attributes, &s); err != nil {
		return Item{}, err
	}
	it := Item{
		Table:       s.Table,
		Own:         s.Own,
		Start:       time.UnixMilli(int64(s.Start)).UTC(),
		Window:      time.Duration(s.Window) * time.Millisecond,
		Base:        time.Duration(s.Base) * time.Millisecond,
		StreamShard: s.Shard,
		Part:        s.Part,
		Records:     s.Records,
		Units:       s.Units,
		Limit:       float64(s.Limit) / 100,
		HotRate:     float64(s.Hot) / 100,
		Rest:        s.Rest,
		IndexRest:   s.IndexRest,
		Incomplete:  s.Incomplete,
		Lag:         time.Duration(s.Lag) * time.Millisecond,
	}
	if it.Window <= 0 || it.Limit <= 0 {
		return Item{}, errors.New("its window has no length or its partitions no limit")
	}
	var err error
	if it.IndexUnits, err = unpackUnits(s.IndexUnits); err == nil {
		it.Keys, err = unpackKeys(s.Keys, it.Start, it.Base > 0)
	}
	return it, err
}

// read decodes a record of the known version. A record of another version may have other attributes.
func read[R any](attributes map[string]types.AttributeValue, into *R) error {
	v, ok := attributes[schema.Version].(*types.AttributeValueMemberN)
	if ok && v.Value != strconv.Itoa(version) {
		return fmt.Errorf("version %s %w", v.Value, ErrVersion)
	}
	return record.Read(attributes, into)
}

// Start returns the start of a stored item's window by its sort key, also of an item that Parse rejects. It returns
// false if the sort key has no time.
func Start(attributes map[string]types.AttributeValue) (time.Time, bool) {
	sk := sortKey(attributes)
	start, err := time.Parse(schema.TimeLayout, sk[:min(len(sk), len(schema.TimeLayout))])
	return start, err == nil
}

// sortKey returns an item's sort key, or "" if it has none of the right type.
func sortKey(attributes map[string]types.AttributeValue) string {
	sk, ok := attributes[schema.SK].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return sk.Value
}

func unpackUnits(b []byte) (map[string]uint64, error) {
	if b == nil {
		return nil, nil
	}
	units := make(map[string]uint64)
	for r := (packed.Reader{Left: b}); len(r.Left) > 0; {
		index := r.Text()
		units[index] = r.Uint()
		if r.Err != nil {
			return nil, errors.New("attribute index_units is damaged")
		}
	}
	return units, nil
}

func unpackKeys(b []byte, start time.Time, folded bool) (keys []Key, err error) {
	for r := (packed.Reader{Left: b}); len(r.Left) > 0; {
		left := len(r.Left)
		k := Key{Index: r.Text(), Key: r.Text(), Units: r.Uint(), Err: r.Uint(), Writes: r.Uint(), Peak: r.Uint()}
		k.PeakAt = time.Unix(start.Unix()+r.Int(), 0).UTC()
		if folded {
			k.Top, k.TopErr = r.Uint(), r.Uint()
			k.TopAt = time.UnixMilli(start.UnixMilli() + r.Int()).UTC()
		}
		if r.Err != nil || k.Key == "" {
			return nil, errors.New("attribute keys is damaged")
		}
		if keys == nil { // the others are about as long as the first
			keys = make([]Key, 0, len(b)/(left-len(r.Left))+2)
		}
		keys = append(keys, k)
	}
	return keys, nil
}
