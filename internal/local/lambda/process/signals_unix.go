//go:build unix

package process

import (
	"os"
	"syscall"
)

// The signals that freeze a process, and have it go on.
var freeze, thaw os.Signal = syscall.SIGSTOP, syscall.SIGCONT
