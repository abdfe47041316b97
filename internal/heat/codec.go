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

	"github.com/hotshard/hotshard/internal/schema"
)

// The stored form, version 1: pk, sk, v, start and window (milliseconds), shard,
// part, records, units, limit and hot (hundredths of a unit a second), rest, index_rest,
// keys (binary, see pack), incomplete, expires_at; if it is not hotshard's own, table; if
// there are such, index_units (binary, see packUnits); of a folded item base (milliseconds).
const version = "1"

// maxPackedNumbers is what a key takes beside its texts: their lengths, four numbers and
// a time, of up to ten bytes each. Of a folded item it takes maxPackedTop more.
const (
	maxPackedNumbers = 70
	maxPackedTop     = 30
)

// Stored returns the item of a window as it is stored, to be deleted by TTL some time
// after expires. Of the keys it has the heaviest: [MaxKeys], or as many as fit in about 100
// KB, of indexes [MaxIndexKeys] in 50 KB.
func (it *Item) Stored(expires time.Time) map[string]types.AttributeValue {
	pk, sk := it.key()
	return it.attributes(pk, sk, whole, expires)
}

func (it *Item) attributes(pk, sk string, c cuts, expires time.Time) map[string]types.AttributeValue {
	keys, rest := it.trim(false, c[0])
	ofIndex, indexRest := it.trim(true, c[1])
	attributes := map[string]types.AttributeValue{
		schema.PK:        text(pk),
		schema.SK:        text(sk),
		schema.Version:   &types.AttributeValueMemberN{Value: version},
		"start":          number(uint64(it.Start.UnixMilli())),
		"window":         number(uint64(it.Window.Milliseconds())),
		"shard":          text(it.StreamShard),
		"part":           text(it.Part),
		"records":        number(it.Records),
		"units":          number(it.Units),
		"limit":          number(uint64(math.Round(it.Limit * 100))),
		"hot":            number(uint64(math.Round(it.HotRate * 100))),
		"rest":           number(rest),
		"index_rest":     number(indexRest),
		"keys":           &types.AttributeValueMemberB{Value: it.pack(append(keys, ofIndex...))},
		"incomplete":     &types.AttributeValueMemberBOOL{Value: it.Incomplete},
		schema.ExpiresAt: number(uint64(expires.Unix())),
	}
	if it.Table != "" {
		attributes["table"] = text(it.Table)
	}
	if it.Base > 0 {
		attributes["base"] = number(uint64(it.Base.Milliseconds()))
	}
	if len(it.IndexUnits) > 0 {
		attributes["index_units"] = &types.AttributeValueMemberB{Value: packUnits(it.IndexUnits)}
	}
	return attributes
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n uint64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(n, 10)}
}

// pack writes each key as: the index, empty for the table's own; the key; units, err,
// writes, peak; the peak's second from the window's start; of a folded item's key top, its
// error, and the milliseconds from the item's start to that of the top's window. All numbers
// are varints, texts have their length before them.
func (it *Item) pack(keys []Key) []byte {
	b := []byte{} // never nil: DynamoDB refuses that
	for _, k := range keys {
		for _, s := range []string{k.Index, k.Key} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
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

// packUnits writes each index, in order, and its units.
func packUnits(units map[string]uint64) (b []byte) {
	for _, index := range slices.Sorted(maps.Keys(units)) {
		b = append(binary.AppendUvarint(b, uint64(len(index))), index...)
		b = binary.AppendUvarint(b, units[index])
	}
	return b
}

// Parse reads an item as Attributes makes it. An item of another version and a
// damaged one are errors that name its sort key.
func Parse(attributes map[string]types.AttributeValue) (Item, error) {
	p := parser{attributes: attributes}
	if v := p.number(schema.Version); p.err == nil && strconv.FormatUint(v, 10) != version {
		p.err = fmt.Errorf("version %d is not known", v)
	}
	it := Item{
		Start:       time.UnixMilli(int64(p.number("start"))).UTC(),
		Window:      time.Duration(p.number("window")) * time.Millisecond,
		StreamShard: p.text("shard"),
		Part:        p.text("part"),
		Records:     p.number("records"),
		Units:       p.number("units"),
		Limit:       float64(p.number("limit")) / 100,
		HotRate:     float64(p.number("hot")) / 100,
		Rest:        p.number("rest"),
		IndexRest:   p.number("index_rest"),
		Incomplete:  p.bool("incomplete"),
	}
	if attributes["table"] != nil {
		it.Table = p.text("table")
	}
	if attributes["base"] != nil {
		it.Base = time.Duration(p.number("base")) * time.Millisecond
	}
	if attributes["index_units"] != nil {
		it.IndexUnits = p.units("index_units")
	}
	it.Keys = p.keys(it.Start, it.Base > 0)
	if p.err == nil && (it.Window <= 0 || it.Limit <= 0) {
		p.err = errors.New("its window has no length or its partitions no limit")
	}
	if p.err != nil {
		return Item{}, fmt.Errorf("heat: item %q: %w", sortKey(attributes), p.err)
	}
	return it, nil
}

// Start returns when the window of a stored item starts, by its sort key: also of an item
// that Parse can't read. It is false where the sort key doesn't tell.
func Start(attributes map[string]types.AttributeValue) (time.Time, bool) {
	sk := sortKey(attributes)
	start, err := time.Parse(schema.TimeLayout, sk[:min(len(sk), len(schema.TimeLayout))])
	return start, err == nil
}

// sortKey returns an item's sort key, "" if it has none of the right type.
func sortKey(attributes map[string]types.AttributeValue) string {
	sk, ok := attributes[schema.SK].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return sk.Value
}

// parser takes attributes and keeps the first error.
type parser struct {
	attributes map[string]types.AttributeValue
	err        error
}

func (p *parser) fail(name string) {
	if p.err == nil {
		p.err = fmt.Errorf("attribute %s is missing or damaged", name)
	}
}

func (p *parser) text(name string) string {
	v, ok := p.attributes[name].(*types.AttributeValueMemberS)
	if !ok {
		p.fail(name)
		return ""
	}
	return v.Value
}

func (p *parser) number(name string) uint64 {
	v, ok := p.attributes[name].(*types.AttributeValueMemberN)
	if !ok {
		p.fail(name)
		return 0
	}
	n, err := strconv.ParseUint(v.Value, 10, 63)
	if err != nil {
		p.fail(name)
	}
	return n
}

func (p *parser) bool(name string) bool {
	v, ok := p.attributes[name].(*types.AttributeValueMemberBOOL)
	if !ok {
		p.fail(name)
		return false
	}
	return v.Value
}

// bytes returns an attribute's bytes, none where it is damaged.
func (p *parser) bytes(name string) []byte {
	v, ok := p.attributes[name].(*types.AttributeValueMemberB)
	if !ok {
		p.fail(name)
		return nil
	}
	return v.Value
}

func (p *parser) units(name string) map[string]uint64 {
	units := make(map[string]uint64)
	for r := (unpacker{b: p.bytes(name)}); len(r.b) > 0; {
		index := r.text()
		units[index] = r.uint()
		if r.failed {
			p.fail(name)
		}
	}
	return units
}

func (p *parser) keys(start time.Time, folded bool) (keys []Key) {
	packed := p.bytes("keys")
	for r := (unpacker{b: packed}); len(r.b) > 0; {
		left := len(r.b)
		k := Key{Index: r.text(), Key: r.text(), Units: r.uint(), Err: r.uint(), Writes: r.uint(), Peak: r.uint()}
		k.PeakAt = time.Unix(start.Unix()+r.int(), 0).UTC()
		if folded {
			k.Top, k.TopErr = r.uint(), r.uint()
			k.TopAt = time.UnixMilli(start.UnixMilli() + r.int()).UTC()
		}
		if r.failed || k.Key == "" {
			p.fail("keys")
			return nil
		}
		if keys == nil { // the others are about as long as the first
			keys = make([]Key, 0, len(packed)/(left-len(r.b))+2)
		}
		keys = append(keys, k)
	}
	return keys
}

// unpacker reads what pack wrote. After a failed read there is nothing left to read.
type unpacker struct {
	b      []byte
	failed bool
}

func (u *unpacker) take(n int) []byte {
	if n < 0 || n > len(u.b) {
		u.b, u.failed = nil, true
		return nil
	}
	taken := u.b[:n]
	u.b = u.b[n:]
	return taken
}

func (u *unpacker) uint() uint64 {
	v, n := binary.Uvarint(u.b)
	u.skip(n)
	return v
}

func (u *unpacker) int() int64 {
	v, n := binary.Varint(u.b)
	u.skip(n)
	return v
}

// skip passes over a varint, of which none has no bytes.
func (u *unpacker) skip(n int) {
	if n <= 0 {
		n = -1
	}
	u.take(n)
}

func (u *unpacker) text() string {
	return string(u.take(int(min(u.uint(), uint64(len(u.b)+1)))))
}
