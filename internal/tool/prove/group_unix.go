//go:build unix

package prove

import (
	"os/exec"
	"syscall"
)

// group runs a child and its descendants as a process group, which is interrupted as a whole. Ctrl-C on a terminal then
// reaches only this process, which ends the group. kill kills the rest of the group after the child has ended.
func group(child *exec.Cmd) (kill func()) {
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.Cancel = func() error { return syscall.Kill(-child.Process.Pid, syscall.SIGTERM) }
	return func() {
		if child.Process != nil {
			_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL) // usually nothing is left
		}
	}
}
