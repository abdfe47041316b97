package heat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/pkg/shard"
)

// rowGroup is the smallest part of a row: a partition key, or a base key with all its partition keys.
type rowGroup struct {
	Verdicts
	key   string
	lines []*line
	units uint64
	rate  float64 // of the hottest line
	peak  uint64  // of the line with the heaviest second
	alone bool    // the group has its own row, because it was hot or is to be unfolded
}

// groups returns the groups of all lines, in order of their keys.
func (m *Map) groups() []*rowGroup {
	byKey := make(map[string]*rowGroup)
	for i := range m.lines {
		l := &m.lines[i]
		key := m.rowKey(l.key)
		g := byKey[key]
		if g == nil {
			g = &rowGroup{key: key}
			byKey[key] = g
		}
		g.lines = append(g.lines, l)
		g.units += l.units
		g.rate, g.peak = max(g.rate, l.rate), max(g.peak, l.peak)
		g.join(l.Verdicts)
	}
	list := make([]*rowGroup, 0, len(byKey))
	for _, g := range byKey {
		if m.options.ByBase && ownLoad(g.peak, m.partitionLimit()) {
			g.addGrowths(m.options.Changes[g.key], m.windowLength(), m.asOf())
		}
		unfolded := m.options.ByBase && slices.Contains(m.options.Unfold, g.key)
		g.alone = g.Worst >= Hot || unfolded
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *rowGroup) int { return cmp.Compare(a.key, b.key) })
	return list
}

// rowKey returns the key of a partition key's rowGroup: with ByBase its base key, if it has one, else the
// partition key itself.
func (m *Map) rowKey(key string) string {
	if m.options.ByBase {
		if base, ok := baseOf(m.options.Table, m.options.Index, key); ok {
			return base.String()
		}
	}
	return key
}

// writeShards returns a row for each partition key of a group, by time bucket and period and then by the write shard's
// number. rest is the matrix's Rest.
func (m *Map) writeShards(g *rowGroup, rest []uint64) (rows []Row) {
	lines := slices.Clone(g.lines)
	slices.SortFunc(lines, func(a, b *line) int { return CompareShards(a.key, b.key) })
	for _, l := range lines {
		alone := []*rowGroup{{Verdicts: l.Verdicts, key: l.key, lines: []*line{l}, units: l.units, rate: l.rate, peak: l.peak}}
		row, excess := m.sumRow(alone)
		row.Type, row.Name = "", "" // its base key's row has them
		m.setErrors(&row, alone, excess, rest)
		rows = append(rows, row)
	}
	return rows
}

// CompareShards compares partition keys by time bucket and period and then by the write shard's number.
func CompareShards(a, b string) int {
	aName, aNumber := splitShard(a)
	bName, bNumber := splitShard(b)
	return cmp.Or(strings.Compare(aName, bName), cmp.Compare(aNumber, bNumber))
}

// splitShard returns a partition key's name and its write shard's number, or the key itself and 0 if it has no number.
func splitShard(key string) (name string, number int) {
	name, number, err := shard.Hash.Split(key)
	if err != nil {
		return key, 0
	}
	return name, number
}
