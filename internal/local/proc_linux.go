package local

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent puts cmd in a process group of its own, so that a terminal's
// Ctrl-C reaches only us, and has the kernel kill it when the thread that starts
// it ends: even a SIGKILL of this process then leaves none behind.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// lockFile takes an exclusive lock, waiting for it. The kernel frees it if this
// process dies.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
