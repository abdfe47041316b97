//go:build !unix

package process

import "os"

// No signal freezes a process here, so starting a container fails.
var freeze, thaw os.Signal = os.Interrupt, os.Interrupt
