package ingest

import (
	"sync"
	"time"
)

// A meter tells the rate at which writes of each base key were offered over the
// last second.
type meter struct {
	mu   sync.Mutex
	keys map[string]*gauge
}

// Resolution and bounds of a meter.
const (
	slot       = 100 * time.Millisecond
	second     = 10         // slots that are a second
	slots      = second + 1 // and the one under way
	maxMetered = 50_000
)

// gauge is a ring of slots for one key.
type gauge struct {
	since int64 // slot in which the key's activity began, after a second without
	last  int64 // newest slot with a write
	units [slots]float64
}

func newMeter() *meter { return &meter{keys: map[string]*gauge{}} }

func slotOf(now time.Time) int64 { return now.UnixNano() / int64(slot) }

// add counts write units of a key. When there is no room for a new key it is not
// metered, and left to the detector.
func (m *meter) add(key string, units int, now time.Time) {
	at := slotOf(now)
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.keys[key]
	if g == nil {
		if len(m.keys) >= maxMetered && !m.sweep(at) {
			return
		}
		g = &gauge{since: at, last: at}
		m.keys[key] = g
	}
	g.advance(at)
	g.units[at%slots] += float64(units)
}

// sweep drops the keys without a write in the last second.
func (m *meter) sweep(at int64) bool {
	for key, g := range m.keys {
		if at-g.last >= slots {
			delete(m.keys, key)
		}
	}
	return len(m.keys) < maxMetered
}

// advance clears the slots between the newest write and at. A clock that steps
// back counts into the newest slot's past.
func (g *gauge) advance(at int64) {
	if at-g.last >= slots {
		*g = gauge{since: at, last: at}
		return
	}
	for s := g.last + 1; s <= at; s++ {
		g.units[s%slots] = 0
	}
	g.last = max(g.last, at)
}

// rate returns the write units a second offered for a key in the last second, in
// whole slots. It is ripe when the key has been active all that time; before, it is
// too low.
func (m *meter) rate(key string, now time.Time) (perSecond float64, ripe bool) {
	at := slotOf(now)
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.keys[key]
	if g == nil || at-g.last >= slots {
		return 0, false
	}
	for s := at - second; s <= min(g.last, at-1); s++ {
		perSecond += g.units[s%slots]
	}
	return perSecond, at-g.since > second
}
