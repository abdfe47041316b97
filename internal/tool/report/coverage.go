package report

// lives is what was read of each stream shard.
type lives map[string]*life

// life is what was read of one stream shard, in seconds by stratum, and the strata of its first and
// last records.
type life struct {
	read        []float32
	first, last int
}

func (l lives) add(s *Slice, p Plan) {
	at := l[s.StreamShard]
	if at == nil {
		at = &life{read: make([]float32, p.Strata), first: p.Strata, last: -1}
		l[s.StreamShard] = at
	}
	at.read[s.Stratum] = float32(s.seconds(p))
	if s.Records > 0 {
		at.first, at.last = min(at.first, s.Stratum), max(at.last, s.Stratum)
	}
}

// part is how many seconds were read, of how many.
type part struct{ read, of float64 }

func (p *part) add(read, of float64) { p.read, p.of = p.read+read, p.of+of }

func (p part) share() float64 {
	if p.of == 0 {
		return 0
	}
	return p.read / p.of
}

// covered returns the share of each column's time that was read, over the stream shards that existed
// then: from their first records to their last. Without any, it is the slices' share. A column has
// perCol strata.
func (l lives) covered(p Plan, perCol int) (columns []float64, all float64) {
	n := (p.Strata + perCol - 1) / perCol
	lived, whole := make([]part, n), make([]part, n)
	stratum := p.Stratum.Seconds()
	for _, at := range l {
		for i, seconds := range at.read {
			whole[i/perCol].add(float64(seconds), stratum)
			if at.first <= i && i <= at.last {
				lived[i/perCol].add(float64(seconds), stratum)
			}
		}
	}
	var sum part
	for i, column := range lived {
		if column.of == 0 {
			column = whole[i]
		}
		columns = append(columns, column.share())
		sum.add(column.read, column.of)
	}
	return columns, sum.share()
}
