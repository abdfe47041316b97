//go:build !unix

package prove

import "os"

// lock always succeeds here: nothing tells whether a run is still under way.
func lock(*os.File) (free bool, err error) { return true, nil }
