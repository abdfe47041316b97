package dynamolocal

import (
	"os/exec"
	"syscall"
)

// DieWithParent makes the kernel kill cmd when the thread that starts it ends, even after a SIGKILL of this process. It
// also puts cmd in its own process group, so that a terminal's Ctrl-C does not reach it.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
