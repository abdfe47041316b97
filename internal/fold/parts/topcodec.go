package parts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// The packed form of a top:
//
//	version  1 byte, 1
//	count    uvarint
//	entries  in rank: a place, then uvarint of twice the rev, plus 1 if unsure
//	floor    1 byte, 0 for none; 1 and a place
//
// A place is the player and the score's text, each with its length as uvarint before it, and the time in Unix milliseconds
// as uvarint. < is before the score if the lowest score ranks first.
const (
	topVersion  = 1
	maxEntries  = 4096    // most entries that can be read; at most TopSize(schema.MaxBoardSize) are written
	maxOverhead = 1 << 10 // largest size of a top without its entries, in bytes
	lowestFirst = "<"
)

// Bytes returns the packed form, which does not include whether the top is whole.
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

func appendEntry(b []byte, e TopEntry) []byte {
	rev := uint64(e.Rev) << 1
	if e.Unsure {
		rev |= 1
	}
	return binary.AppendUvarint(appendPlace(b, e.Place), rev)
}

func appendPlace(b []byte, p boards.Place) []byte {
	score := p.Score.String()
	if p.Lowest {
		score = lowestFirst + score
	}
	b = schema.AppendText(schema.AppendText(b, p.Player), score)
	return binary.AppendUvarint(b, uint64(p.At.UnixMilli()))
}

// entrySize returns the size of an entry in the packed form, in bytes.
func entrySize(e TopEntry) int {
	var room [1 << 10]byte
	return len(appendEntry(room[:0], e))
}

// ParseTop parses the packed form, or returns an error that names the damage.
func ParseTop(data []byte, whole bool) (*Top, error) {
	r := &reader{schema.Unpacker{Left: data}}
	if v := r.Byte(); r.Err == nil && v != topVersion {
		return nil, fmt.Errorf("a top has version %d, and this release reads only %d: run the release that wrote it, or a newer one", v, topVersion)
	}
	t := &Top{Reach: Reach{whole: whole}}
	for range r.readCount(maxEntries) {
		p, rev := r.readPlace(), r.Uint()
		t.entries = append(t.entries, TopEntry{Place: p, Rev: int64(rev >> 1), Unsure: rev&1 == 1})
	}
	if r.Byte() != 0 {
		floor := r.readPlace()
		t.floor = &floor
	}
	if len(r.Left) > 0 {
		r.Fail("there are bytes after its end")
	}
	if r.Err == nil {
		r.Err = t.check()
	}
	if r.Err != nil {
		return nil, fmt.Errorf("a top: %w", r.Err)
	}
	return t, nil
}

// check returns an error if the entries are not in order, repeat a player, or are not covered, or if a whole top has a
// floor.
func (t *Top) check() error {
	seen := make(map[string]bool, len(t.entries))
	for i, e := range t.entries {
		switch {
		case i > 0 && ComparePlaces(t.entries[i-1].Place, e.Place) >= 0:
			return fmt.Errorf("entry %d does not rank after the one before it", i)
		case seen[e.Player]:
			return fmt.Errorf("entry %d repeats a player", i)
		case !t.Covers(e.Place):
			return fmt.Errorf("entry %d ranks after the floor", i)
		}
		seen[e.Player] = true
	}
	if t.whole && t.floor != nil {
		return errors.New("it is whole, and has a floor")
	}
	return nil
}

// reader reads the fields of a packed top or histogram.
type reader struct{ schema.Unpacker }

// readCount reads the number of elements that follow, each of at least one byte.
func (r *reader) readCount(most uint64) int {
	n := r.Uint()
	if n > min(most, uint64(len(r.Left))) {
		r.Fail("its number of elements exceeds the bound or the data")
		return 0
	}
	return int(n)
}

// maxMillis is the latest time that a rank key can have, in Unix milliseconds.
const maxMillis = 999_999_999_999_999

func (r *reader) readPlace() boards.Place {
	player, digits, millis := r.Text(), r.Text(), r.Uint()
	if r.Err != nil {
		return boards.Place{}
	}
	digits, lowest := strings.CutPrefix(digits, lowestFirst)
	score, err := boards.ParseScore(digits)
	if err != nil || player == "" || millis > maxMillis {
		r.Fail("a place in it can't be read")
	}
	return boards.Place{Player: player, Score: score, At: time.UnixMilli(int64(millis)).UTC(), Lowest: lowest}
}
