//go:build !unix

package prove

import "os/exec"

// group does nothing on this system: only the child is interrupted, and its own children end by themselves.
func group(*exec.Cmd) (kill func()) { return func() {} }
