package arch

import "strings"

// ownClocks are the folders and files of tests that need the machine's clock, with the reason.
// They use enginetest.Yesterday instead of calculating days.
var ownClocks = map[string]string{
	"cmd/hotshard/":                       "programs take the machine's time",
	"functions/":                          "functions take the machine's time",
	"infra/":                              "deployed functions take the machine's time",
	"internal/hotkeys/source_test.go":     "records of a stream have the engine's time",
	"internal/tool/live/":                 "called in a synctest bubble",
	"internal/aws/":                       "records of a stream have the engine's time",
	"internal/tool/system/":               "records of a stream have the engine's time",
	"internal/fold/audit/":                "audits wait for the aggregator, which takes the machine's time",
	"internal/fold/boardparts_test.go":    "folds of histograms take the machine's time",
	"internal/fold/erase/":                "deletes wait for the aggregator, which takes the machine's time",
	"internal/fold/parts/":                "folds of events take the machine's time",
	"pkg/shard/boards/example_test.go":    "a program's time is the machine's",
	"pkg/shard/counters/example_test.go":  "a program's time is the machine's",
	"pkg/shard/grow/everyitem_test.go":    "late commits and leads take real time on the engine",
	"pkg/shard/grow/storm_test.go":        "called in a synctest bubble",
	"pkg/shard/limits/example_test.go":    "a program's time is the machine's",
	"pkg/shard/shardmap/fake_test.go":     "called in a synctest bubble",
	"pkg/shard/shardmap/renew_test.go":    "called in a synctest bubble",
	"pkg/shard/shardmap/snapshot_test.go": "called in a synctest bubble",
	"pkg/shard/shardmap/world_test.go":    "called in a synctest bubble",
	"pkg/shard/shardmap/late_test.go":     "called in a synctest bubble",
	"pkg/shard/sessions/example_test.go":  "a program's time is the machine's",
}

// ownClock returns the entry of ownClocks for a file, or "".
func ownClock(file string) string {
	for entry := range ownClocks {
		if file == entry || strings.HasSuffix(entry, "/") && strings.HasPrefix(file, entry) {
			return entry
		}
	}
	return ""
}
