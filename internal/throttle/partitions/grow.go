package partitions

import "github.com/hotshard/hotshard/pkg/shard/plan"

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
		s.widen(s.gate.count(2*f.peakReads, 2*f.peakWrites, 0), now)
		f.since, f.peakReads, f.peakWrites = now, 0, 0
	}
	used, peak := &f.reads, &f.peakReads
	if write {
		used, peak = &f.writes, &f.peakWrites
	}
	used.add(u, now)
	*peak = max(*peak, used.last.Float()/meterSpan.Seconds())
}

// count returns the number of partitions for reads or writes a second, or for a size. A partition takes its limits of
// reads and of writes at once.
func (g *Gate) count(reads, writes float64, bytes int64) int {
	l := g.limits
	one := plan.PartitionLimits{ReadUnits: float64(l.PartitionRCU), WriteUnits: float64(l.PartitionWCU), Bytes: float64(l.PartitionBytes)}
	n := max(one.Partitions(reads, 0, float64(bytes)).Expected, one.Partitions(0, writes, 0).Expected)
	return min(n, MaxPartitions)
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

// sizeStep is the part of Limits.PartitionBytes that is written at least between two readings of a size.
const sizeStep = 16

// Outgrown reports whether a space may have become larger than its partitions hold: a write unit adds at most 1 KB. Then
// the caller reads the space's size and calls SetSize. It returns true once until that much may have been written again.
func (s *Space) Outgrown() bool {
	limit := s.gate.limits.PartitionBytes
	if limit == 0 {
		return false
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	if int64(s.written/Unit)*1024 <= max(limit*int64(len(s.partitions))-s.bytes, limit/sizeStep) {
		return false
	}
	s.written = 0
	return true
}

// SetSize sets the size of a space's items. The space gets partitions of at most Limits.PartitionBytes.
//
// A partition has about 10 GB: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.Partitions.html
func (s *Space) SetSize(bytes int64) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.bytes = bytes
	s.widen(s.gate.count(0, 0, bytes), s.gate.now())
}
