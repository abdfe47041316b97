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

// measure adds what the processes spend on calls.
func (s *spent) measure(processes [3]int, calls func() (float64, error)) error {
	before, err := cpuOf(processes)
	if err != nil {
		return err
	}
	n, err := calls()
	after, failed := cpuOf(processes)
	s.calls += n
	for i := range after {
		s.cpu[i] += after[i] - before[i]
	}
	return errors.Join(err, failed)
}

// cpuOf returns the CPU time of each process.
func cpuOf(processes [3]int) (used [3]time.Duration, err error) {
	for i, pid := range processes {
		if used[i], err = rig.CPUOf(pid); err != nil {
			return used, err
		}
	}
	return used, nil
}

const spentHead = " | CPU a call: callers | engine | proxy |"

// String returns the columns of spentHead.
func (s spent) String() string {
	text := " |"
	for _, d := range s.cpu {
		text += fmt.Sprintf(" %.3f ms |", rig.Millis(d)/s.calls)
	}
	return text
}
