package throttle

import (
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
)

// spent is the CPU time of calls.
type spent struct {
	calls float64
	cpu   [3]time.Duration // of the callers, the engine and the proxy
}

// measure adds the calls of a function, and the CPU time that the side's processes spend meanwhile.
func (s *side) measure(into *spent, run func() error) error {
	calls := s.calls.Load()
	before, err := s.used()
	if err != nil {
		return err
	}
	err = run()
	after, failed := s.used()
	into.calls += float64(s.calls.Load() - calls)
	for i := range after {
		into.cpu[i] += after[i] - before[i]
	}
	return errors.Join(err, failed)
}

// used returns the CPU time of each process so far.
func (s *side) used() (used [3]time.Duration, err error) {
	for i, pid := range s.processes {
		if used[i], err = rig.CPUOf(pid); err != nil {
			return used, err
		}
	}
	return used, nil
}

const spentHead = " | CPU a call: callers | engine | between |"

// String returns the columns of spentHead.
func (s spent) String() string {
	text := " |"
	for _, d := range s.cpu {
		text += fmt.Sprintf(" %.3f ms |", rig.Millis(d)/s.calls)
	}
	return text
}
