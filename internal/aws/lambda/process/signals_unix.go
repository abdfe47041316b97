//go:build unix

package process

import (
	"os"
	"syscall"
)

// freeze and thaw are the signals that stop and continue a process.
var freeze, thaw os.Signal = syscall.SIGSTOP, syscall.SIGCONT
