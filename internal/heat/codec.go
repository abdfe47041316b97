package heat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// The stored form, version 1: pk, sk, v, start and window (milliseconds), shard,
// part, records, units, limit and hot (hundredths of a unit a second), rest, keys
// (binary, see pack) and expires_at; where there are any, table, indexes (binary, see
// packIndexes), writes (binary, see packWrites) and marks (binary, see packMarks).
// Older releases, which wrote none of those, pass over them.
const version = "1"

// maxPackedNumbers is what a key takes beside its texts: five numbers of up to ten
// bytes, a time of up to ten and a status.
const maxPackedNumbers = 61

// Attributes returns the item as it is stored, to be deleted by TTL some time
// after expires. Of the keys it keeps those that throttled and the heaviest:
// [MaxKeys], or as many as fit in about 100 KB, of indexes [MaxIndexKeys] in 50 KB;
// of the marks what fits in 160 KB.
func (it *Item) Attributes(expires time.Time) map[string]types.AttributeValue {
	pk, sk := it.key()
	keys, rest := it.trim(false)
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
		"keys":           &types.AttributeValueMemberB{Value: it.pack([]byte{}, keys)}, // never nil: DynamoDB refuses that
		schema.ExpiresAt: number(uint64(expires.Unix())),
	}
	if it.Table != "" {
		attributes[tableName] = text(it.Table)
	}
	ofIndex, indexRest := it.trim(true)
	if len(ofIndex) > 0 || indexRest > 0 {
		packed := it.pack(binary.AppendUvarint(nil, indexRest), ofIndex)
		attributes[indexesName] = &types.AttributeValueMemberB{Value: packed}
	}
	if packed := packWrites(append(keys, ofIndex...)); packed != nil {
		attributes[writesName] = &types.AttributeValueMemberB{Value: packed}
	}
	if !it.Marks.empty() {
		attributes[marksName] = &types.AttributeValueMemberB{Value: it.packMarks()}
	}
	return attributes
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n uint64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(n, 10)}
}

// pack appends each key as: the index, of such keys only; the key; units, err, peak;
// the peak's second from the window's start; status. All numbers are varints, texts
// have their length before them.
func (it *Item) pack(b []byte, keys []Key) []byte {
	for _, k := range keys {
		if k.Index != "" {
			b = appendText(b, k.Index)
		}
		b = appendText(b, k.Key)
		b = binary.AppendUvarint(b, k.Units)
		b = binary.AppendUvarint(b, k.Err)
		b = binary.AppendUvarint(b, k.Peak)
		b = binary.AppendVarint(b, k.PeakAt.Unix()-it.Start.Unix())
		b = append(b, byte(k.Status))
	}
	return b
}

// Attributes that not every item has. That of indexes holds IndexRest and then
// their keys.
const (
	tableName   = "table"
	indexesName = "indexes"
	writesName  = "writes"
)

// packWrites writes the number of writes of each key, in the order of the other
// attributes, as varints; nil if none is known.
func packWrites(keys []Key) (packed []byte) {
	known := false
	for _, k := range keys {
		packed = binary.AppendUvarint(packed, k.Writes)
		known = known || k.Writes > 0
	}
	if !known {
		return nil
	}
	return packed
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
	}
	if attributes[tableName] != nil {
		it.Table = p.text(tableName)
	}
	p.unpack(&it)
	p.unpackIndexes(&it)
	p.unpackWrites(&it)
	p.unpackMarks(&it)
	if p.err == nil && (it.Window <= 0 || it.Limit <= 0) {
		p.err = errors.New("its window has no length or its partitions no limit")
	}
	if p.err != nil {
		sk, _ := attributes[schema.SK].(*types.AttributeValueMemberS)
		if sk == nil {
			sk = new(types.AttributeValueMemberS)
		}
		return Item{}, fmt.Errorf("heat: item %q: %w", sk.Value, p.err)
	}
	return it, nil
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

func (p *parser) unpack(it *Item) {
	v, ok := p.attributes["keys"].(*types.AttributeValueMemberB)
	if !ok {
		p.fail("keys")
		return
	}
	for r := (unpacker{b: v.Value}); len(r.b) > 0; {
		it.Keys = append(it.Keys, r.key("", it.Start))
		if r.failed {
			p.fail("keys")
			return
		}
	}
}

func (p *parser) unpackIndexes(it *Item) {
	if p.attributes[indexesName] == nil {
		return
	}
	v, ok := p.attributes[indexesName].(*types.AttributeValueMemberB)
	if !ok {
		p.fail(indexesName)
		return
	}
	r := unpacker{b: v.Value}
	it.IndexRest = r.uint()
	for len(r.b) > 0 && !r.failed {
		it.Keys = append(it.Keys, r.key(r.text(), it.Start))
	}
	if r.failed {
		p.fail(indexesName)
	}
}

func (p *parser) unpackWrites(it *Item) {
	if p.attributes[writesName] == nil {
		return
	}
	v, ok := p.attributes[writesName].(*types.AttributeValueMemberB)
	if !ok {
		p.fail(writesName)
		return
	}
	r := unpacker{b: v.Value}
	for i := range it.Keys {
		it.Keys[i].Writes = r.uint()
	}
	if r.failed || len(r.b) > 0 {
		p.fail(writesName)
	}
}
