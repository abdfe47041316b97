package heat

import (
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

// maxPackedNumbers is the packed size of a key without its texts: their lengths, four numbers and a time, of up to ten
// bytes each. A folded item's key takes maxPackedTop more.
const (
	maxPackedNumbers = 70
	maxPackedTop     = 40
)

// Stored returns the attributes of the item; TTL deletes it some time after expires. It keeps the heaviest keys:
// [MaxKeys], or as many as fit into about 100 KB, and of indexes [MaxIndexKeys] in 50 KB.
func (it *Item) Stored(expires time.Time) map[string]types.AttributeValue {
	pk, sk := it.key()
	noKey := math.Inf(1) // the rate from which keys are kept beyond the number
	kept := it.trimmed(cut{MaxKeys, noKey, maxBytes}, cut{MaxIndexKeys, noKey, maxIndexBytes})
	kept.Part = "" // the sort key has it
	windows := encode([]Item{kept}, false)
	return record.Item(stored{Key: record.Key{PK: pk, SK: sk}, Version: version, Windows: windows, Expires: expires.Unix()})
}

// MakeLate moves a stored item of [Prompt] to [Late]. The item is that of its first window.
func (it *Item) MakeLate(attributes map[string]types.AttributeValue) {
	attributes[schema.PK] = &types.AttributeValueMemberS{Value: Late.partition(it)}
}

// Others returns where all items of the item's window and stream shard are stored, in time or late: their partition keys,
// and the bounds of their sort keys.
func (it *Item) Others() (partitions [2]string, low, high string) {
	for i, s := range []Series{Prompt, Late} {
		partitions[i] = s.partition(it)
	}
	low = bound(it.Start) + "#" + it.StreamShard + "#"
	return partitions, low, low + "~"
}

// Counts compares a stored item with windows of the same first window and stream shard. It reports whether the stored
// item counts the first record of windows, and whether it counts all their records.
func Counts(attributes map[string]types.AttributeValue, windows []Item) (first, all bool) {
	list, _, _ := Open(attributes)
	if len(list) == 0 { // nothing can read it
		return false, false
	}
	stored, it := list[0], &windows[0]
	if part, last := stored.common.Part, stored.common.Last; it.Part != part {
		first = last != "" && before(part, it.Part) && !before(last, it.Part)
		return first, first && !before(last, it.Last)
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

// before compares sequence numbers of one stream shard. They have either no leading zeros or all the same length.
func before(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// ErrVersion means that an item has the form of another release. In errors the item's version precedes its text.
var ErrVersion = errors.New("is not known")

// Decoder decodes the windows of a stored item, one with each call of Next.
type Decoder struct{ coder }

// Open returns the decoders of a stored item, one for each table of a folded one, and reports whether windows may be
// missing. An item of another version or a damaged one is an error that names its sort key.
func Open(attributes map[string]types.AttributeValue) (list []*Decoder, incomplete bool, err error) {
	var span storedSpan
	if _, ok := attributes["tables"]; ok {
		err = read(attributes, &span)
	} else {
		var s stored
		err = read(attributes, &s)
		span.Tables = []encoded{s.Windows}
	}
	for _, windows := range span.Tables {
		d := decoder(windows)
		d.sk = sortKey(attributes)
		if d.common.Base == 0 {
			d.common.StreamShard, d.common.Part = sourceOf(d.sk)
		}
		if err = d.fault(err); err == nil {
			list = append(list, d)
		}
	}
	return list, span.Incomplete, err
}

// decoder returns the decoder of encoded windows.
func decoder(windows []byte) *Decoder {
	d := &Decoder{coder{Codec: schema.Codec{From: &schema.Unpacker{Left: windows}}}}
	d.header()
	if d.common.Window <= 0 || d.common.Base < 0 || d.common.Limit <= 0 {
		d.From.Fail("its windows have no length or its partitions no limit")
	}
	return d
}

// fault returns an error that names the item, if err is not nil or the windows are damaged.
func (d *Decoder) fault(err error) error {
	if err == nil && d.From.Err != nil {
		err = fmt.Errorf("attribute windows is damaged: %w", d.From.Err)
	}
	if err != nil {
		return fmt.Errorf("heat: item %q: %w", d.sk, err)
	}
	return nil
}

// More reports whether there is another window.
func (d *Decoder) More() bool { return len(d.From.Left) > 0 }

// Next returns the next window. After an error there is none.
func (d *Decoder) Next() (Item, error) {
	it := d.common
	d.window(&it)
	return it, d.fault(nil)
}

// Parse decodes an item that Stored encoded. Errors name its sort key.
func Parse(attributes map[string]types.AttributeValue) (Item, error) {
	list, _, err := Open(attributes)
	if err != nil || len(list) == 0 {
		return Item{}, err
	}
	return list[0].Next()
}

// read decodes a record of the known version. A record of another version may have other attributes.
func read[R any](attributes map[string]types.AttributeValue, into *R) error {
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
	at := max(0, strings.LastIndex(source, "#"))
	return source[:at], strings.TrimPrefix(source[at:], "#")
}

// sortKey returns an item's sort key, or "" if it has none of the right type.
func sortKey(attributes map[string]types.AttributeValue) string {
	sk, ok := attributes[schema.SK].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return sk.Value
}
