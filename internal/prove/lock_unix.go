//go:build unix

package prove

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the lock of a file, unless another process has it. It goes with the last process
// that has the file open by this opening of it: children that inherit it have it, too.
func lock(file *os.File) (free bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
