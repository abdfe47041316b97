//go:build !linux

package dynamolocal

import "os/exec"

// DieWithParent does nothing: only Linux can tie a process to its parent. If this process is
// killed, cmd must be ended by hand.
func DieWithParent(*exec.Cmd) {}
