//go:build !unix

package process

import "os"

// No signal freezes a process here: starting a container that is a process fails.
var freeze, thaw os.Signal = os.Interrupt, os.Interrupt
