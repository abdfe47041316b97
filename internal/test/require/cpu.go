package require

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time that the process has used, user and system.
func CPUTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
