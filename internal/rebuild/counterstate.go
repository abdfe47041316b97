package rebuild

import (
	"math/big"
)

// state is the rev and value of a write shard's item, or of the write shard in a summary. Its numbers are never changed.
type state struct{ rev, value *big.Int }

// source is a write shard of a counter, with its states in the summary and in its item. The summary is read first, so
// its rev should not be higher.
type source struct {
	n             int    // the write shard's number
	summary, item *state // nil if absent
	fault         error  // why one of the states can't be read
}

// classify returns what is wrong with a source; "" if nothing is. Of write shard 0, which is never folded, only a fault counts.
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
