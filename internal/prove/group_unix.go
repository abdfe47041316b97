//go:build unix

package prove

import (
	"os/exec"
	"syscall"
)

// group has a child and what that starts be a group of their own, which is told to end as one:
// Ctrl-C on a terminal is for this process, which then ends the child. Kill ends what is left of
// the group when the child has ended.
func group(child *exec.Cmd) (kill func()) {
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.Cancel = func() error { return syscall.Kill(-child.Process.Pid, syscall.SIGTERM) }
	return func() {
		if child.Process != nil {
			_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL) // mostly nothing is left
		}
	}
}
