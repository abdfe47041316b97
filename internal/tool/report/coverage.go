package report

// lives has the life of each stream shard, by its id.
type lives map[string]*life

// life has what was read of one stream shard.
type life struct {
	read        []float32 // seconds, by stratum
	first, last int       // strata of its first and last records
}

func (l lives) addSlice(s *Slice, p Plan) {
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

// seconds has the seconds that were read, of all.
type seconds struct{ read, all float64 }

func (s *seconds) add(read, all float64) { s.read, s.all = s.read+read, s.all+all }

func (s seconds) share() float64 {
	if s.all == 0 {
		return 0
	}
	return s.read / s.all
}

// covered returns the share of each column's time that was read, and the share of all time. A column has
// perCol strata. A stream shard counts from the stratum of its first record to that of its last; in a
// column without such stream shards all of them count.
func (l lives) covered(p Plan, perCol int) (columns []float64, all float64) {
	n := (p.Strata + perCol - 1) / perCol
	lived, whole := make([]seconds, n), make([]seconds, n)
	stratum := p.Stratum.Seconds()
	for _, at := range l {
		for i, read := range at.read {
			whole[i/perCol].add(float64(read), stratum)
			if at.first <= i && i <= at.last {
				lived[i/perCol].add(float64(read), stratum)
			}
		}
	}
	var sum seconds
	for i, column := range lived {
		if column.all == 0 {
			column = whole[i]
		}
		columns = append(columns, column.share())
		sum.add(column.read, column.all)
	}
	return columns, sum.share()
}
