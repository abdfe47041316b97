package partitions

// State is a snapshot of a space.
type State struct {
	Resource
	Reads, Writes Level // of the whole space; the zero value if it has no limit
	Partitions    []PartitionState
}

// PartitionState is a snapshot of a partition, with its first and last hash.
type PartitionState struct {
	First, Last   uint64
	Reads, Writes Level
}

// Level is a limit and its bucket.
type Level struct {
	Limit  int64   // capacity units a second; 0 is no limit
	Tokens float64 // capacity units; negative for a debt
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

// level returns a whole space's limit and its bucket, or the zero value if l is nil.
func (l *limit) level(now int64) Level {
	if l == nil {
		return Level{}
	}
	l.refill(l.rate, now)
	return Level{l.perSecond, l.tokens.Float()}
}

// Split halves the range of each partition. A partition of a single hash is not split, nor any partition once the space
// has MaxPartitions.
func (s *Space) Split() {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	for i := len(s.partitions) - 1; i >= 0; i-- { // from the last, since a split renumbers those that follow
		s.halve(i, s.gate.now())
	}
}
