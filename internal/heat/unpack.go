package heat

import (
	"encoding/binary"
	"time"
)

type unpacker struct {
	b      []byte
	failed bool
}

// take uses up n bytes, of which a failed read has none.
func (u *unpacker) take(n int) []byte {
	if n <= 0 || n > len(u.b) {
		u.b, u.failed = nil, true
		return nil
	}
	taken := u.b[:n]
	u.b = u.b[n:]
	return taken
}

func (u *unpacker) uint() uint64 {
	v, n := binary.Uvarint(u.b)
	u.take(n)
	return v
}

func (u *unpacker) int() int64 {
	v, n := binary.Varint(u.b)
	u.take(n)
	return v
}

// text reads a key, which is never empty.
func (u *unpacker) text() string {
	n := u.uint()
	return string(u.take(int(min(n, uint64(len(u.b)+1)))))
}

func (u *unpacker) byte() byte {
	if b := u.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (u *unpacker) key(index string, start time.Time) Key {
	k := Key{Index: index, Key: u.text(), Units: u.uint(), Err: u.uint(), Peak: u.uint()}
	k.PeakAt = time.Unix(start.Unix()+u.int(), 0).UTC()
	k.Status = Status(u.byte())
	return k
}
