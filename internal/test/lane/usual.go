//go:build !long

package lane

// Long is true in the long run, which has the build tag long.
const Long = false
