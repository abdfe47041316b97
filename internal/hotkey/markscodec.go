package hotkey

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
)

// pack writes the marks, all numbers as varints: 1 if incomplete; hidden; the
// number of base keys sighted and each as text, throttled, failed, offered, write
// shards (number, attempts), samples (second, writer, twice what was offered, plus 1 if
// that is not ripe); the names answered;
// the beats as name, time, write shards. Lists have their length before them.
func (m *marks) pack() string {
	p := packer{}
	p.uint(0)
	if m.incomplete {
		p.b[0] = 1
	}
	p.uint(m.hidden)
	p.uint(uint64(len(m.sighted)))
	for _, name := range slices.Sorted(maps.Keys(m.sighted)) {
		p.text(name)
		p.sighted(m.sighted[name])
	}
	p.uint(uint64(len(m.answered)))
	for _, name := range slices.Sorted(maps.Keys(m.answered)) {
		p.text(name)
	}
	p.uint(uint64(len(m.beats)))
	for _, b := range m.sortedBeats() {
		p.text(b.name)
		p.uint(uint64(b.at))
		p.uint(uint64(len(m.beats[b])))
		for _, n := range m.beats[b] {
			p.uint(uint64(n))
		}
	}
	return base64.StdEncoding.EncodeToString(p.b)
}

type packer struct{ b []byte }

func (p *packer) uint(n uint64) { p.b = binary.AppendUvarint(p.b, n) }

func (p *packer) text(s string) {
	p.uint(uint64(len(s)))
	p.b = append(p.b, s...)
}

func (p *packer) sighted(s *sighted) {
	p.uint(s.throttled)
	p.uint(s.failed)
	p.uint(s.offered)
	p.uint(uint64(len(s.shards)))
	for _, n := range slices.Sorted(maps.Keys(s.shards)) {
		p.uint(uint64(n))
		p.uint(s.shards[n])
	}
	p.uint(uint64(len(s.samples)))
	for _, sample := range s.samples {
		p.uint(uint64(sample.second))
		p.b = binary.BigEndian.AppendUint64(p.b, sample.writer)
		unripe := uint64(0)
		if sample.unripe {
			unripe = 1
		}
		p.uint(sample.offered<<1 | unripe)
	}
}

// unpackMarks reads what pack wrote; nothing stands for no marks. They count for
// their bounds as when they came. Ripeness is false for what was offered being
// written as it is, by the first release.
func unpackMarks(packed string, ripeness bool) (marks, error) {
	m := newMarks()
	if packed == "" {
		return m, nil
	}
	b, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return m, err
	}
	u := unpacker{b: b}
	m.incomplete = u.uint() != 0
	m.hidden = u.uint()
	for n := u.uint(); n > 0 && !u.failed; n-- {
		name := u.text()
		m.sighted[name] = u.sighted(ripeness)
		m.sightedBytes += len(name) + sightedCost + len(m.sighted[name].shards)*shardCost + len(m.sighted[name].samples)*sampleCost
	}
	for n := u.uint(); n > 0 && !u.failed; n-- {
		name := u.text()
		m.answered[name] = true
		m.answeredBytes += len(name) + answeredCost
	}
	for n := u.uint(); n > 0 && !u.failed; n-- {
		b := beat{u.text(), int64(u.uint())}
		for k := u.uint(); k > 0 && !u.failed; k-- {
			m.beats[b] = append(m.beats[b], int(u.uint()))
		}
		m.beatBytes += len(b.name) + beatCost + len(m.beats[b])*numberCost
	}
	if u.failed || len(u.b) > 0 {
		return m, errState
	}
	return m, nil
}

type unpacker struct {
	b      []byte
	failed bool
}

// take uses up n bytes, of which a failed read has none.
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
	if n <= 0 {
		u.b, u.failed = nil, true
		return 0
	}
	u.take(n)
	return v
}

func (u *unpacker) text() string {
	return string(u.take(int(min(u.uint(), uint64(len(u.b)+1)))))
}

func (u *unpacker) sighted(ripeness bool) *sighted {
	s := &sighted{throttled: u.uint(), failed: u.uint(), offered: u.uint(), shards: map[int]uint64{}}
	for n := u.uint(); n > 0 && !u.failed; n-- {
		shard := int(u.uint())
		s.shards[shard] = u.uint()
	}
	for n := u.uint(); n > 0 && !u.failed; n-- {
		second := int64(u.uint())
		if writer := u.take(8); writer != nil {
			one := sample{second: second, writer: binary.BigEndian.Uint64(writer), offered: u.uint()}
			if ripeness {
				one.offered, one.unripe = one.offered>>1, one.offered&1 != 0
			}
			s.samples = append(s.samples, one)
		}
	}
	return s
}
