package board

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// The packed form of a top:
//
//	version  1 byte, 1
//	count    uvarint
//	entries  in rank: a place, then uvarint of twice the rev, plus 1 if unsure
//	floor    1 byte, 0 for none; 1 and a place
//
// A place is the player and the score's text, each with its length as uvarint before
// it, and the time in Unix milliseconds as uvarint.
const (
	topVersion = 1
	maxEntries = 4096 // of a top that can be read; written are Hold(schema.MaxBoardSize) at most
	// maxOverhead is what a top takes beside its entries: the count and the floor.
	maxOverhead = 1 << 10
)

// Bytes returns the packed form. Whether the top is whole is not in it.
func (t *Top) Bytes() []byte {
	b := binary.AppendUvarint([]byte{topVersion}, uint64(len(t.entries)))
	for _, e := range t.entries {
		b = appendEntry(b, e)
	}
	if t.floor == nil {
		return append(b, 0)
	}
	return appendPlace(append(b, 1), *t.floor)
}

func appendEntry(b []byte, e Entry) []byte {
	rev := uint64(e.Rev) << 1
	if e.Unsure {
		rev |= 1
	}
	return binary.AppendUvarint(appendPlace(b, e.Place), rev)
}

func appendPlace(b []byte, p boards.Place) []byte {
	b = appendText(appendText(b, p.Player), p.Score.String())
	return binary.AppendUvarint(b, uint64(p.At.UnixMilli()))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// entrySize is what an entry takes in the packed form.
func entrySize(e Entry) int {
	var room [1 << 10]byte
	return len(appendEntry(room[:0], e))
}

// ParseTop reads the packed form. The error says what of it can't be read.
func ParseTop(data []byte, whole bool) (*Top, error) {
	r := &reader{data: data}
	if v := r.byte(); r.err == nil && v != topVersion {
		return nil, fmt.Errorf("a top has version %d, and %d can be read", v, topVersion)
	}
	t := &Top{Reach: Reach{whole: whole}}
	for range r.count(maxEntries) {
		p, rev := r.place(), r.uvarint()
		t.entries = append(t.entries, Entry{Place: p, Rev: int64(rev >> 1), Unsure: rev&1 == 1})
	}
	if r.byte() != 0 {
		floor := r.place()
		t.floor = &floor
	}
	if len(r.data) > 0 {
		r.fault("there is more behind its end")
	}
	if r.err == nil {
		r.err = t.check()
	}
	if r.err != nil {
		return nil, fmt.Errorf("a top: %w", r.err)
	}
	return t, nil
}

// check looks for what arithmetic never comes to.
func (t *Top) check() error {
	seen := make(map[string]bool, len(t.entries))
	for i, e := range t.entries {
		switch {
		case i > 0 && Compare(t.entries[i-1].Place, e.Place) >= 0:
			return fmt.Errorf("entry %d is not behind the one before it", i)
		case seen[e.Player]:
			return fmt.Errorf("entry %d is of a player that it has already", i)
		case !t.Covers(e.Place):
			return fmt.Errorf("entry %d is behind its floor", i)
		}
		seen[e.Player] = true
	}
	if t.whole && t.floor != nil {
		return errors.New("it is whole, and has a floor")
	}
	return nil
}

// reader takes values off the front, and keeps the first fault. After one all
// values are zero.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fault(why string) {
	if r.err == nil {
		r.err = errors.New(why)
	}
	r.data = nil
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.fault("it ends too soon")
		return nil
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); r.err == nil {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	r.pass(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	r.pass(n)
	return v
}

// pass goes on behind a number of so many bytes. With 0 or less there was none, and its value
// is 0.
func (r *reader) pass(n int) {
	if n <= 0 {
		r.fault("a number in it can't be read")
		return
	}
	r.data = r.data[n:]
}

// count reads a number of things, each of at least one byte.
func (r *reader) count(most uint64) int {
	n := r.uvarint()
	if n > min(most, uint64(len(r.data))) {
		r.fault("it says to have more than it can have")
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.uvarint())) }

// maxMillis is the highest time of a rank key.
const maxMillis = 999_999_999_999_999

func (r *reader) place() boards.Place {
	player, digits, millis := r.text(), r.text(), r.uvarint()
	if r.err != nil {
		return boards.Place{}
	}
	score, err := boards.ParseScore(digits)
	if err != nil || player == "" || millis > maxMillis {
		r.fault("a place in it can't be read")
	}
	return boards.Place{Player: player, Score: score, At: time.UnixMilli(int64(millis)).UTC()}
}
