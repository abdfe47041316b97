// Package cputime measures the CPU time of tests.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the CPU time that the process has used, user and system.
func Used() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
