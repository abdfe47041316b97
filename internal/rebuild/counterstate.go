package rebuild

import (
	"math/big"
)

// state is the rev and value of a write shard, or of a write shard in a summary. Its numbers are never changed.
type state struct{ rev, value *big.Int }

// source is a write shard of a counter with both of its states, which are nil if absent. The
// summary is read first, so it is newer than the item only if its rev is higher.
type source struct {
	n             int
	summary, item *state
	fault         error // why one of the states can't be read
}

// classify returns what is wrong with a source, or "". Write shard 0 is never folded.
func (s source) classify() State {
	switch {
	case s.fault != nil:
		return Unreadable
	case s.n == 0:
		return ""
	case s.item == nil:
		if s.summary == nil || s.summary.value.Sign() == 0 {
			return ""
		}
		return Removed
	case s.summary == nil || s.summary.rev.Cmp(s.item.rev) < 0:
		return Stale
	case s.summary.rev.Cmp(s.item.rev) > 0:
		return Ahead
	case s.summary.value.Cmp(s.item.value) != 0:
		return Wrong
	}
	return ""
}

func (s source) finding(state State) Finding {
	if s.fault != nil {
		return Finding{WriteShard: &s.n, State: state, Detail: s.fault.Error()}
	}
	return Finding{WriteShard: &s.n, State: state, Summary: figuresOf(s.summary), Items: figuresOf(s.item)}
}
