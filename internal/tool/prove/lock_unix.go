//go:build unix

package prove

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file, and returns false if another process has the lock. Child processes that inherit the open file hold
// the lock too, until the last of them ends.
func lock(file *os.File) (free bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
