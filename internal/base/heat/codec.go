package heat

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
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
	windows := encode([]Item{*it}, it.End().Add(it.Lag), false)
	return stored{Key: record.Key{PK: pk, SK: sk}, Version: version, Windows: windows, Expires: expires.Unix()}
}

// coder encodes or decodes the windows of a stored item, which have one table, stream shard, length, base, limit and hot
// rate. Several windows have no peaks, and name each key once: the name's number follows, from 1.
type coder struct {
	packed.Coder
	common  Item      // the fields of all windows, and the first window's start
	put     time.Time // when the item was put
	several bool
	numbers map[name]uint64 // of the names that were encoded
	names   []name          // that were decoded
	sk      string
}

// name identifies a key of the table or of an index.
type name struct{ index, key string }

// encode encodes one or more windows, which were put at a time.
func encode(items []Item, put time.Time, several bool) []byte {
	c := coder{common: items[0], put: put, several: several, numbers: make(map[name]uint64)}
	c.header()
	for _, it := range items {
		c.window(&it)
	}
	return c.Bytes
}

func (c *coder) header() {
	it := &c.common
	c.Text(&it.Table)
	c.Text(&it.Own)
	c.hundredths(&it.Limit)
	c.hundredths(&it.HotRate)
	c.milliseconds(&it.Window)
	c.milliseconds(&it.Base)
	c.time(&it.Start, time.UnixMilli(0), time.Millisecond)
	c.time(&c.put, it.Start, time.Millisecond)
	c.flag(&c.several)
}

// window encodes or decodes a window. Its start is a number of windows after the first.
func (c *coder) window(it *Item) {
	c.time(&it.Start, c.common.Start, c.common.Window)
	c.Text(&it.Part)
	for _, n := range []*uint64{&it.Records, &it.Units, &it.Rest, &it.IndexRest} {
		c.Uint(n)
	}
	if it.Base > 0 {
		c.Uint(&it.TopRest)
		c.Uint(&it.TopIndexRest)
	}
	c.flag(&it.Incomplete)
	c.indexUnits(it)
	n := uint64(len(it.Keys))
	c.Uint(&n)
	if c.From == nil {
		for _, k := range it.Keys {
			c.key(it, &k)
		}
		return
	}
	it.Keys = slices.Grow(it.Keys, int(min(n, uint64(len(c.From.Left)/2)))) // a key has two bytes at least
	for ; n > 0 && c.From.Err == nil; n-- {
		var k Key
		c.key(it, &k)
		it.Keys = append(it.Keys, k)
	}
}

func (c *coder) indexUnits(it *Item) {
	n := uint64(len(it.IndexUnits))
	c.Uint(&n)
	if c.From == nil {
		for _, index := range slices.Sorted(maps.Keys(it.IndexUnits)) {
			units := it.IndexUnits[index]
			c.Text(&index)
			c.Uint(&units)
		}
		return
	}
	for ; n > 0 && c.From.Err == nil; n-- {
		if it.IndexUnits == nil {
			it.IndexUnits = make(map[string]uint64)
		}
		index := c.From.Text()
		it.IndexUnits[index] = c.From.Uint()
	}
}

// A key begins with the number of its name, or 0 before a new name, and with bits for what follows: its error, its
// writes if they are not as many as its units, and the top of a folded key if it is not that of the whole time.
const (
	hasError = 1 << iota
	hasWrites
	hasTop
	nameNumber
)

func (c *coder) key(it *Item, k *Key) {
	head := c.head(it, k)
	c.Uint(&head)
	c.name(k, head/nameNumber)
	c.Uint(&k.Units)
	if head&hasError != 0 {
		c.Uint(&k.Err)
	}
	if head&hasWrites != 0 {
		c.Uint(&k.Writes)
	} else {
		k.Writes = k.Units
	}
	c.peak(it, k)
	c.top(it, k, head&hasTop != 0)
}

// head returns what a key to encode begins with.
func (c *coder) head(it *Item, k *Key) uint64 {
	head := c.numbers[name{k.Index, k.Key}] * nameNumber
	if k.Err > 0 {
		head |= hasError
	}
	if k.Writes != k.Units {
		head |= hasWrites
	}
	if it.Base > 0 && (k.Top != k.Units || k.TopErr != k.Err || !k.TopAt.Equal(it.Start) || k.TopMost != k.Units+k.Err) {
		head |= hasTop
	}
	return head
}

// name encodes or decodes a key's name, of which number is 0 if it is new.
func (c *coder) name(k *Key, number uint64) {
	switch {
	case number == 0:
		c.Text(&k.Index)
		c.Text(&k.Key)
	case c.From != nil && number <= uint64(len(c.names)):
		k.Index, k.Key = c.names[number-1].index, c.names[number-1].key
	case c.From != nil:
		c.From.Fail("a name's number is unknown")
	}
	if c.From != nil && k.Key == "" {
		c.From.Fail("a key has no name")
	}
	if number > 0 || !c.several {
		return
	}
	if c.From != nil {
		c.names = append(c.names, name{k.Index, k.Key})
	} else {
		c.numbers[name{k.Index, k.Key}] = uint64(len(c.numbers)) + 1
	}
}

// peak encodes or decodes a key's heaviest second. Several windows have none: then the peak is the mean rate.
func (c *coder) peak(it *Item, k *Key) {
	if c.several {
		k.Peak, k.PeakAt = uint64(float64(k.Units)/it.Window.Seconds()), it.Start.Truncate(time.Second)
		return
	}
	c.Uint(&k.Peak)
	c.time(&k.PeakAt, it.Start.Truncate(time.Second), time.Second)
}

// top encodes or decodes a folded key's heaviest base window.
func (c *coder) top(it *Item, k *Key, differs bool) {
	switch {
	case differs:
		c.Uint(&k.Top)
		c.Uint(&k.TopErr)
		c.Uint(&k.TopMost)
		c.time(&k.TopAt, it.Start, time.Millisecond)
	case it.Base > 0:
		k.Top, k.TopErr, k.TopMost, k.TopAt = k.Units, k.Err, k.Units+k.Err, it.Start
	}
}

// time encodes or decodes a time as a number of units after another time.
func (c *coder) time(t *time.Time, from time.Time, unit time.Duration) {
	n := (t.UnixMilli() - from.UnixMilli()) / max(1, unit.Milliseconds())
	c.Int(&n)
	*t = time.UnixMilli(from.UnixMilli() + n*unit.Milliseconds()).UTC()
}

func (c *coder) milliseconds(d *time.Duration) {
	n := uint64(d.Milliseconds())
	c.Uint(&n)
	*d = time.Duration(n) * time.Millisecond
}

func (c *coder) hundredths(f *float64) {
	n := uint64(math.Round(*f * 100))
	c.Uint(&n)
	*f = float64(n) / 100
}

func (c *coder) flag(set *bool) {
	n := uint64(0)
	if *set {
		n = 1
	}
	c.Uint(&n)
	*set = n != 0
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
		d.common.StreamShard = streamShard(d.sk)
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

// streamShard returns the stream shard in a sort key: see [Item.key].
func streamShard(sk string) string {
	_, source, _ := strings.Cut(sk, "#")
	return source[:max(0, strings.LastIndex(source, "#"))]
}

// sortKey returns an item's sort key, or "" if it has none of the right type.
func sortKey(attributes map[string]types.AttributeValue) string {
	sk, ok := attributes[schema.SK].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return sk.Value
}
