package arch

import "strings"

// ownClocks are the folders and files of tests that look at the machine's clock for what
// the time is, and why they must. They reckon with no days: enginetest.Yesterday does.
var ownClocks = map[string]string{
	"bench/herd/":                        "in a bubble, further up",
	"cmd/hotshard/":                      "programs take the machine's time",
	"functions/":                         "functions take the machine's time",
	"infra/":                             "so do deployed ones",
	"internal/hotkey/source_test.go":     "records of a stream have the engine's time",
	"internal/live/":                     "in bubbles, further up",
	"internal/load/fakeboard_test.go":    "a stand-in for a service, which takes the machine's time",
	"internal/local/":                    "records of a stream have the engine's time",
	"internal/rollup/audit/":             "audits wait for folds, which take the machine's time",
	"internal/rollup/boardparts_test.go": "folds of histograms take the machine's time",
	"internal/rollup/erase/":             "deletes wait for folds, which take the machine's time",
	"internal/rollup/parts/":             "folds of events take the machine's time",
	"pkg/shard/boards/example_test.go":   "a program's time is the machine's",
	"pkg/shard/counters/example_test.go": "a program's time is the machine's",
	"pkg/shard/limits/example_test.go":   "a program's time is the machine's",
	"pkg/shard/shardmap/fake_test.go":    "in a bubble, further up",
	"pkg/shard/shardmap/renew_test.go":   "in a bubble, further up",
	"pkg/shard/shardmap/world_test.go":   "in a bubble, further down",
	"pkg/shard/sessions/example_test.go": "a program's time is the machine's",
}

// ownClock returns the folder or file of the list that a file belongs to, or "".
func ownClock(file string) string {
	for entry := range ownClocks {
		if file == entry || strings.HasSuffix(entry, "/") && strings.HasPrefix(file, entry) {
			return entry
		}
	}
	return ""
}
