package heat

import "slices"

// Lay returns the matrix with the rows of an earlier one: each [Row.Row] is the row's index there. A row also has the
// earlier worst verdict, hottest window and heaviest second. Lay omits rows without new counts, unless they were hot at
// the end of the earlier matrix.
//
// It returns false if other rows are needed: if a key that was hot or is to be unfolded has no row of its own, or if a
// key has no row although MapOptions.Rows allows one more.
func (m *Map) Lay(before []Row) (out Matrix, ok bool) {
	sorted := m.groups()
	var spans []span
	var numbers []int
	for from := 0; from < len(sorted); {
		n, found := slices.BinarySearchFunc(before, sorted[from].key, compareRow)
		to := from + 1
		for found && to < len(sorted) && compareRow(before[n], sorted[to].key) == 0 {
			to++
		}
		for _, g := range sorted[from:to] {
			if g.alone && (!found || before[n].Keys > 1) {
				return Matrix{}, false
			}
		}
		if !found && len(before) < m.o.Rows {
			return Matrix{}, false
		}
		if found {
			spans, numbers = append(spans, span{from: from, to: to}), append(numbers, n)
		}
		from = to
	}
	out = m.matrix(sorted, spans)
	for i := range out.Rows {
		out.Rows[i].follow(&before[numbers[i]])
		out.Rows[i].Row = &numbers[i]
	}
	for n := range before {
		if before[n].Status >= Hot && !slices.Contains(numbers, n) {
			row := before[n].quiet(len(out.Total))
			row.Row = &n
			out.Rows = append(out.Rows, row)
		}
	}
	return out, true
}

// compareRow compares a row with a key: negative if the row is before the key, 0 if the row has the key.
func compareRow(row Row, key string) int {
	first, last := row.Key, row.Key
	if row.Keys > 1 {
		first, last = row.First, row.Last
	}
	switch {
	case last < key:
		return -1
	case first > key:
		return 1
	}
	return 0
}

// follow merges the earlier row into the row, and its write shards by key. It keeps an earlier write shard without new
// counts only if it was hot.
func (r *Row) follow(before *Row) {
	r.Key, r.First, r.Last, r.Keys, r.Type, r.Name = before.Key, before.First, before.Last, before.Keys, before.Type, before.Name
	r.Rate, r.Peak = max(r.Rate, before.Rate), max(r.Peak, before.Peak)
	r.verdicts.join(Verdicts{Worst: before.Worst, HotUntil: before.verdicts.HotUntil})
	r.setVerdicts(r.verdicts)
	added := make(map[string]*Row, len(r.WriteShards))
	for i := range r.WriteShards {
		added[r.WriteShards[i].Key] = &r.WriteShards[i]
	}
	var quiet []Row
	for i := range before.WriteShards {
		shard := &before.WriteShards[i]
		if now := added[shard.Key]; now != nil {
			now.follow(shard)
		} else if shard.Status >= Hot {
			quiet = append(quiet, shard.quiet(len(r.Units)))
		}
	}
	r.WriteShards = append(r.WriteShards, quiet...)
	slices.SortFunc(r.WriteShards, func(a, b Row) int { return CompareShards(a.Key, b.Key) })
}

// quiet returns the row for columns without writes: warm, and with zeros. It lists only the write shards that were hot.
func (r Row) quiet(columns int) Row {
	r.verdicts.Now, r.verdicts.Current = Warm, 0
	r.setVerdicts(r.verdicts)
	r.Units, r.Error, r.Heaviest = make([]uint64, columns), make([]uint64, columns), make([]float64, columns)
	var shards []Row
	for i := range r.WriteShards {
		if r.WriteShards[i].Status >= Hot {
			shards = append(shards, r.WriteShards[i].quiet(columns))
		}
	}
	r.WriteShards = shards
	return r
}

// Bare returns the rows and their write shards without the numbers of columns, for [Map.Lay].
func Bare(rows []Row) []Row {
	bare := slices.Clone(rows)
	for i := range bare {
		bare[i].Units, bare[i].Error, bare[i].Heaviest = nil, nil, nil
		bare[i].WriteShards = Bare(bare[i].WriteShards)
	}
	return bare
}
