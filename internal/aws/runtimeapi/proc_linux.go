package runtimeapi

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill a function when this process ends. Otherwise a stopped
// process would stay forever.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
