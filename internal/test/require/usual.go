//go:build !long

package require

// LongRun is true in the long run, which has the build tag long.
const LongRun = false
