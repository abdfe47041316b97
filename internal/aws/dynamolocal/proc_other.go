//go:build !linux

package dynamolocal

import "os/exec"

// dieWithParent does nothing: only Linux can tie a process to its parent. If this process is
// killed, the engine must be ended by hand.
func dieWithParent(*exec.Cmd) {}
