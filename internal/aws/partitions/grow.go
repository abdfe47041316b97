package partitions

// growth has the peaks of a space's traffic in the current interval, over spans of a meter.
type growth struct {
	reads, writes         meter
	since                 int64 // nanoseconds; when the interval began
	peakReads, peakWrites float64
}

// observe records u used units. At the end of an interval, the space gets partitions for twice its peak.
//
// An on-demand table takes up to double its previous peak at once, and may throttle more within 30 minutes:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
func (s *Space) observe(u Units, write bool, now int64) {
	after := int64(s.gate.limits.GrowAfter)
	if !s.grows || after == 0 {
		return
	}
	f := &s.growth
	if now-f.since >= after {
		s.widen(count(2*f.peakReads, s.gate.reads, 2*f.peakWrites, s.gate.writes), now)
		f.since, f.peakReads, f.peakWrites = now, 0, 0
	}
	used, peak := &f.reads, &f.peakReads
	if write {
		used, peak = &f.writes, &f.peakWrites
	}
	used.add(u, now)
	*peak = max(*peak, used.last.Float()/meterSpan.Seconds())
}

// count returns the number of partitions for these units a second.
func count(reads float64, perRead rate, writes float64, perWrite rate) int {
	needed := max(reads/float64(perRead.perSecond), writes/float64(perWrite.perSecond))
	n := int(min(needed, MaxPartitions))
	if float64(n) < needed && n < MaxPartitions {
		n++
	}
	return n
}

// widen splits the widest partitions until there are n.
func (s *Space) widen(n int, now int64) {
	for len(s.partitions) < min(n, MaxPartitions) {
		widest := 0
		for i := range s.partitions {
			if s.width(i) > s.width(widest) {
				widest = i
			}
		}
		if !s.halve(widest, now) {
			return
		}
	}
}

// width returns how many hashes a partition covers beyond one.
func (s *Space) width(i int) uint64 { return s.last(i) - s.partitions[i].low.hash }

// Resize adds bytes to the partition of a place, or removes them. A partition that is larger than
// Limits.PartitionBytes splits.
//
// A partition has about 10 GB: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.Partitions.html
func (g *Gate) Resize(p Place, bytes int64) {
	if bytes == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := p.index(p.point)
	part := &p.partitions[i]
	part.bytes = max(0, part.bytes+bytes)
	if limit := g.limits.PartitionBytes; limit > 0 && part.bytes > limit {
		p.halve(i, g.now())
	}
}
