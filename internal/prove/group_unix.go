//go:build unix

package prove

import (
	"os/exec"
	"syscall"
	"time"
)

// endTime is how long a child has to end by itself.
const endTime = 20 * time.Second

// group has a child and what that starts be a group of their own, which is ended as one: Ctrl-C
// on a terminal is for this process, which then ends the child.
func group(child *exec.Cmd) {
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.Cancel = func() error { return syscall.Kill(-child.Process.Pid, syscall.SIGTERM) }
	child.WaitDelay = endTime
}
