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
	"github.com/hotshard/hotshard/internal/base/packed"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// version is the version of all stored forms.
const version = 1

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
	kept := it.trimmed(cut{MaxKeys, math.Inf(1), maxBytes}, cut{MaxIndexKeys, math.Inf(1), maxIndexBytes})
	return record.Item(kept.stored(pk, sk, expires))
}

func (it *Item) stored(pk, sk string, expires time.Time) stored {
	item := *it
	item.Part = "" // the sort key has it
	windows := encode([]Item{item}, it.End().Add(it.Lag), false)
	return stored{Key: record.Key{PK: pk, SK: sk}, Version: version, Windows: windows, Expires: expires.Unix()}
}

// ErrVersion means that an item has the form of another release. Its text follows the item's version.
var ErrVersion = errors.New("is not known")

// Decoder decodes the windows of a stored item, one with each call of Next.
type Decoder struct{ coder }

// Open returns the decoder of a stored item. An item of another version or a damaged one is an error that names its
// sort key.
func Open(attributes map[string]types.AttributeValue) (*Decoder, error) {
	var s stored
	err := read(attributes, &s)
	d := decoder(s.Windows)
	d.sk = sortKey(attributes)
	if d.common.Base == 0 {
		d.common.StreamShard, d.common.Part = sourceOf(d.sk)
	}
	return d, d.fault(err)
}

// decoder returns the decoder of encoded windows.
func decoder(windows []byte) *Decoder {
	d := &Decoder{coder{Coder: packed.Coder{From: &packed.Reader{Left: windows}}}}
	d.header()
	if d.common.Window <= 0 || d.common.Base < 0 || d.common.Limit <= 0 {
		d.From.Fail("its windows have no length or its partitions no limit")
	}
	return d
}

// fault returns an error that names the item if err is one or the windows are damaged.
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
	it.Lag = max(0, d.put.Sub(it.End()))
	return it, d.fault(nil)
}

// Parse decodes an item that Stored encoded. Errors name its sort key.
func Parse(attributes map[string]types.AttributeValue) (Item, error) {
	d, err := Open(attributes)
	if err != nil {
		return Item{}, err
	}
	return d.Next()
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
