package partitions

// State is a snapshot of a space.
type State struct {
	Resource
	Reads, Writes Level // of the whole space, if there is such a limit
	Partitions    []PartitionState
}

// PartitionState is a snapshot of a partition, with its first and last hash.
type PartitionState struct {
	First, Last   uint64
	Reads, Writes Level
}

// Level is a limit and its bucket. Tokens is negative for a debt.
type Level struct {
	Limit  int64   // units a second; 0 is none
	Tokens float64 // units
}

// State returns a snapshot of the space.
func (s *Space) State() State {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	now := s.gate.now()
	state := State{Resource: s.Resource, Reads: s.reads.level(now), Writes: s.writes.level(now)}
	for i := range s.partitions {
		p := &s.partitions[i]
		state.Partitions = append(state.Partitions, PartitionState{
			First: p.low, Last: s.lastHash(i), Reads: p.reads.level(s.gate.reads, now), Writes: p.writes.level(s.gate.writes, now),
		})
	}
	return state
}

func (n *lane) level(r rate, now int64) Level {
	n.refill(r, now)
	return Level{r.perSecond, n.tokens.Float()}
}

// level returns the zero value for no limit.
func (l *limit) level(now int64) Level {
	if l == nil {
		return Level{}
	}
	l.refill(l.rate, now)
	return Level{l.perSecond, l.tokens.Float()}
}

// Split splits one partition, given by its number in the order of hashes, or all partitions if
// the number is negative. It returns the number of partitions that were split: a partition of a
// single hash is not, nor one beyond MaxPartitions.
func (s *Space) Split(number int) int {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	before := len(s.partitions)
	for i := before - 1; i >= 0; i-- {
		if number < 0 || number == i {
			s.halve(i, s.gate.now())
		}
	}
	return len(s.partitions) - before
}

// Number returns the number of a place's partition, in the order of hashes.
func (p Place) Number() int {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.partitionIndex(p.hash)
}
