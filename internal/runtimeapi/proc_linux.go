package runtimeapi

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill a function when this process ends, however that
// ends: one that is stopped would stay for good.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
