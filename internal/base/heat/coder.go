package heat

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// coder encodes or decodes the windows of a stored item. Its methods code... decode if its [schema.Codec] has a From, else
// they encode. All windows have the same table, stream shard, length, base, limit and hot rate. A key's name is stored once;
// later keys have the name's number instead, from 1.
type coder struct {
	schema.Codec
	common  Item            // the fields of all windows, and the first window's start
	held    bool            // the windows are quiet ones that a hold stored together; a key's peak is its mean rate
	names   []name          // the names that were encoded or decoded, in order of their numbers
	numbers map[name]uint64 // the numbers of the names that were encoded
	sk      string          // the sort key of the item that is decoded, for errors
}

// name identifies a key of the table or of an index.
type name struct{ index, key string }

// encode encodes one or more windows.
func encode(items []Item, held bool) []byte {
	c := coder{common: items[0], held: held, numbers: make(map[name]uint64)}
	c.codeHeader()
	for _, it := range items {
		c.codeWindow(&it)
	}
	return c.Bytes
}

// codeHeader encodes or decodes the fields that all windows have in common.
func (c *coder) codeHeader() {
	it := &c.common
	c.Text(&it.Table)
	c.Text(&it.Own)
	c.codeHundredths(&it.Limit)
	c.codeHundredths(&it.HotRate)
	c.codeMilliseconds(&it.Window)
	c.codeMilliseconds(&it.Base)
	c.codeTime(&it.Start, time.UnixMilli(0), time.Millisecond)
	c.codeFlag(&c.held)
	c.Text(&it.Part)
	if !c.held { // held windows are no share of a batch
		c.Text(&it.Last)
	}
}

// codeWindow encodes or decodes one window.
func (c *coder) codeWindow(it *Item) {
	unit := time.Millisecond
	if c.held {
		unit = c.common.Window
	}
	c.codeTime(&it.Start, c.common.Start, unit)
	for _, n := range []*uint64{&it.Records, &it.Units, &it.Rest, &it.IndexRest} {
		c.Uint(n)
	}
	if it.Base > 0 {
		c.Uint(&it.TopRest)
		c.Uint(&it.TopIndexRest)
	}
	c.codeFlag(&it.Incomplete)
	c.codeIndexUnits(it)
	n := uint64(len(it.Keys))
	c.Uint(&n)
	if c.From == nil {
		for _, k := range it.Keys {
			c.codeKey(it, &k)
		}
		return
	}
	it.Keys = slices.Grow(it.Keys, int(min(n, uint64(len(c.From.Left)/2)))) // a key has two bytes at least
	for ; n > 0 && c.From.Err == nil; n-- {
		var k Key
		c.codeKey(it, &k)
		it.Keys = append(it.Keys, k)
	}
}

// codeIndexUnits encodes or decodes the units of each index.
func (c *coder) codeIndexUnits(it *Item) {
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

// A key begins with its head: nameNumber times the number of its name (0 for a new name, which follows), plus a bit
// for each optional field that follows.
const (
	hasError  = 1 << iota // Err is not 0
	hasWrites             // Writes is not Units
	hasTop                // in a folded item: the heaviest base window differs from the whole in its counts or its start
	nameNumber
)

// codeKey encodes or decodes a key of a window. Decoding overwrites the head that c.head returns.
func (c *coder) codeKey(it *Item, k *Key) {
	head := c.head(it, k)
	c.Uint(&head)
	c.codeName(k, head/nameNumber)
	c.Uint(&k.Units)
	if head&hasError != 0 {
		c.Uint(&k.Err)
	}
	if head&hasWrites != 0 {
		c.Uint(&k.Writes)
	} else {
		k.Writes = k.Units
	}
	c.codePeak(it, k)
	c.codeTop(it, k, head&hasTop != 0)
}

// head returns the head of a key that is encoded.
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

// codeName encodes or decodes a key's name. number is from the key's head: 0 if the name is new and follows, otherwise the
// name is the number-th one so far, and nothing follows.
func (c *coder) codeName(k *Key, number uint64) {
	decoding := c.From != nil
	switch {
	case number == 0:
		c.Text(&k.Index)
		c.Text(&k.Key)
		c.names = append(c.names, name{k.Index, k.Key})
	case decoding && number > uint64(len(c.names)):
		c.From.Fail("a name's number is unknown")
	case decoding:
		k.Index, k.Key = c.names[number-1].index, c.names[number-1].key
	}
	if decoding && k.Key == "" {
		c.From.Fail("a key has no name")
	}
	if !decoding && number == 0 {
		c.numbers[name{k.Index, k.Key}] = uint64(len(c.names))
	}
}

// codePeak encodes or decodes a key's heaviest second. Held windows lack it: Peak is the mean rate, at their start.
func (c *coder) codePeak(it *Item, k *Key) {
	if c.held {
		k.Peak, k.PeakAt = uint64(float64(k.Units)/it.Window.Seconds()), it.Start.Truncate(time.Second)
		return
	}
	c.Uint(&k.Peak)
	c.codeTime(&k.PeakAt, it.Start.Truncate(time.Second), time.Second)
}

// codeTop encodes or decodes a folded key's heaviest base window. differs is the bit hasTop of the key's head.
func (c *coder) codeTop(it *Item, k *Key, differs bool) {
	switch {
	case differs:
		c.Uint(&k.Top)
		c.Uint(&k.TopErr)
		c.Uint(&k.TopMost)
		c.codeTime(&k.TopAt, it.Start, time.Millisecond)
	case it.Base > 0:
		k.Top, k.TopErr, k.TopMost, k.TopAt = k.Units, k.Err, k.Units+k.Err, it.Start
	}
}

// codeTime encodes or decodes a time as a number of units after another time.
func (c *coder) codeTime(t *time.Time, from time.Time, unit time.Duration) {
	n := (t.UnixMilli() - from.UnixMilli()) / max(1, unit.Milliseconds())
	c.Int(&n)
	*t = time.UnixMilli(from.UnixMilli() + n*unit.Milliseconds()).UTC()
}

func (c *coder) codeMilliseconds(d *time.Duration) {
	n := uint64(d.Milliseconds())
	c.Uint(&n)
	*d = time.Duration(n) * time.Millisecond
}

func (c *coder) codeHundredths(f *float64) {
	n := uint64(math.Round(*f * 100))
	c.Uint(&n)
	*f = float64(n) / 100
}

func (c *coder) codeFlag(set *bool) {
	n := uint64(0)
	if *set {
		n = 1
	}
	c.Uint(&n)
	*set = n != 0
}
