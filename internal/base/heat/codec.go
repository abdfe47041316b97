package heat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// version is the version of all stored forms.
const version = 3

// stored is an item of the heat table: one window, or several of a stream shard.
type stored struct {
	record.Key
	Version uint64 `dynamodbav:"v"`
	Windows []byte `dynamodbav:"windows"`    // see coder
	Expires int64  `dynamodbav:"expires_at"` // Unix seconds
}

// maxPackedNumbers is the most bytes that a packed key takes besides its texts: for their lengths, four numbers and a time,
// of up to ten bytes each. A folded item's key takes up to maxPackedTop bytes more.
const (
	maxPackedNumbers = 70
	maxPackedTop     = 40
)

// Stored returns the attributes of the item; TTL deletes it some time after expires. It keeps the heaviest keys:
// [MaxKeys], or as many as fit into about 100 KB, and of indexes [MaxIndexKeys] in 50 KB.
func (it *Item) Stored(expires time.Time) map[string]types.AttributeValue {
	pk, sk := it.key()
	noRate := math.Inf(1) // no key is kept for its rate
	kept := it.trimmed(keyLimits{MaxKeys, noRate, maxBytes}, keyLimits{MaxIndexKeys, noRate, maxIndexBytes})
	kept.Part = "" // the sort key has it
	windows := encode([]Item{kept}, false)
	return record.Item(stored{Key: record.Key{PK: pk, SK: sk}, Version: version, Windows: windows, Expires: expires.Unix()})
}

// MakeLate moves the attributes of a stored item from [Prompt] to [Late]: it replaces their partition key. The receiver
// is the first window in the stored item.
func (it *Item) MakeLate(attributes map[string]types.AttributeValue) {
	attributes[schema.PK] = &types.AttributeValueMemberS{Value: Late.partition(it)}
}

// KeysOfWindow returns the bounds of the sort keys of all stored items of the item's window and stream shard, and their
// two partition keys: first that of [Prompt], then that of [Late].
func (it *Item) KeysOfWindow() (partitions [2]string, low, high string) {
	for i, s := range []Series{Prompt, Late} {
		partitions[i] = s.partition(it)
	}
	low = SortBound(it.Start) + "#" + it.StreamShard + "#"
	return partitions, low, low + "~"
}

// CountsRecords compares a stored item with windows of the same first window and stream shard. It reports whether the
// item counts the first record of windows, and whether it counts all their records; both are false if Open rejects it.
func CountsRecords(attributes map[string]types.AttributeValue, windows []Item) (countsFirst, countsAll bool) {
	decoders, _, _ := Open(attributes)
	if len(decoders) == 0 { // unreadable
		return false, false
	}
	stored, it := decoders[0], &windows[0]
	if from, to := stored.common.Part, stored.common.Last; it.Part != from { // sequence numbers
		countsFirst = to != "" && earlierSequence(from, it.Part) && !earlierSequence(to, it.Part)
		return countsFirst, countsFirst && !earlierSequence(to, it.Last)
	}
	counted, records := uint64(0), uint64(0)
	for stored.More() {
		w, err := stored.Next()
		if err != nil {
			return true, false
		}
		counted += w.Records
	}
	for _, w := range windows {
		records += w.Records
	}
	return true, counted >= records
}

// earlierSequence reports whether a is the earlier of two sequence numbers of a stream shard. They have no leading zeros, or
// all the same length.
func earlierSequence(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
}

// ErrVersion means that an item has the form of another release. In errors the item's version precedes this text.
var ErrVersion = errors.New("was stored by another release of hotshard")

// Decoder decodes the windows of a stored item, one with each call of Next.
type Decoder struct{ coder }

// Open returns the decoders of a stored item, one for each table in a folded item, and reports whether windows may be
// missing. For an item of another version, and for a damaged one, the error names the sort key.
func Open(attributes map[string]types.AttributeValue) (list []*Decoder, incomplete bool, err error) {
	var span storedSpan
	if _, folded := attributes["tables"]; folded {
		err = readRecord(attributes, &span)
	} else {
		var s stored
		err = readRecord(attributes, &s)
		span.Tables = []encoded{s.Windows}
	}
	sk := sortKey(attributes)
	if err != nil {
		return nil, false, fmt.Errorf("heat: item %q: %w", sk, err)
	}
	for _, windows := range span.Tables {
		d := newDecoder(windows)
		d.sk = sk
		if d.common.Base == 0 {
			d.common.StreamShard, d.common.Part = sourceOf(sk)
		}
		if err := d.fault(); err != nil {
			return nil, false, err
		}
		list = append(list, d)
	}
	return list, span.Incomplete, nil
}

// newDecoder returns the decoder of encoded windows.
func newDecoder(windows []byte) *Decoder {
	d := &Decoder{coder{Codec: schema.Codec{From: &schema.Unpacker{Left: windows}}}}
	d.codeHeader()
	if d.common.Window <= 0 || d.common.Base < 0 || d.common.Limit <= 0 {
		d.From.Fail("the windows have no length, or a partition has no limit")
	}
	return d
}

// fault returns an error with the item's sort key if the decoded windows are damaged, else nil.
func (d *Decoder) fault() error {
	if d.From.Err == nil {
		return nil
	}
	return fmt.Errorf("heat: item %q: attribute windows is damaged: %w", d.sk, d.From.Err)
}

// More reports whether there is another window.
func (d *Decoder) More() bool { return len(d.From.Left) > 0 }

// Next returns the next window. After an error, More returns false.
func (d *Decoder) Next() (Item, error) {
	it := d.common
	d.codeWindow(&it)
	return it, d.fault()
}

// Parse decodes the first window of an item that [Item.Stored] encoded. Errors name its sort key.
func Parse(attributes map[string]types.AttributeValue) (Item, error) {
	list, _, err := Open(attributes)
	if err != nil || len(list) == 0 {
		return Item{}, err
	}
	return list[0].Next()
}

// readRecord decodes a record. It returns ErrVersion for another version, which may have other attributes.
func readRecord[R any](attributes map[string]types.AttributeValue, into *R) error {
	v, ok := attributes[schema.Version].(*types.AttributeValueMemberN)
	if ok && v.Value != strconv.Itoa(version) {
		return fmt.Errorf("version %s %w", v.Value, ErrVersion)
	}
	return record.Read(attributes, into)
}

// Start returns the start of a stored item's window by its sort key, also of an item that Open rejects. It returns
// false if the sort key has no time.
func Start(attributes map[string]types.AttributeValue) (time.Time, bool) {
	sk := sortKey(attributes)
	start, err := time.Parse(schema.TimeLayout, sk[:min(len(sk), len(schema.TimeLayout))])
	return start, err == nil
}

// sourceOf returns the stream shard and the part in a sort key: see [Item.key].
func sourceOf(sk string) (streamShard, part string) {
	_, source, _ := strings.Cut(sk, "#")
	end := strings.LastIndex(source, "#")
	if end < 0 {
		return "", source
	}
	return source[:end], source[end+1:]
}

// sortKey returns an item's sort key, or "" if it has none of the right type.
func sortKey(attributes map[string]types.AttributeValue) string {
	sk, ok := attributes[schema.SK].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return sk.Value
}
