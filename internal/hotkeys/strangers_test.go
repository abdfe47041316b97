package hotkeys_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestStrangersPayloads checks the payloads in events/strangers against what their members expect say: the counted write
// units by partition key, the unreadable records, a text of the log, or one of the error. A payload is delivered twice.
func TestStrangersPayloads(t *testing.T) {
	files, err := filepath.Glob("../../events/strangers/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads, %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			payload, err := os.ReadFile(file)
			require.NoError(t, err)
			var want struct {
				Expect struct {
					PartitionKey string            `json:"partition_key"` // of a table that hotshard did not shard
					Units        map[string]uint64 `json:"units"`
					Unreadable   int               `json:"unreadable"`
					Log          string            `json:"log"`
					Fault        string            `json:"fault"`
				} `json:"expect"`
			}
			require.NoError(t, json.Unmarshal(payload, &want))
			expect := want.Expect
			f := strangersDetector(t, expect.PartitionKey)
			for range 2 {
				if _, err = f.invoke(t, payload); expect.Fault != "" {
					if err == nil || !strings.Contains(err.Error(), expect.Fault) {
						t.Errorf("error %v, want %q", err, expect.Fault)
					}
					return
				}
				require.NoError(t, err)
			}
			units := map[string]uint64{}
			for _, item := range parsed(t, f) {
				for _, k := range item.Keys {
					units[k.Key] += k.Units
				}
			}
			if diff := cmp.Diff(expect.Units, units); diff != "" {
				t.Errorf("write units (-want +got):\n%s", diff)
			}
			unreadable := 0.0
			for _, values := range f.values("RecordsUnreadable") {
				unreadable += values[0]
			}
			if int(unreadable) != expect.Unreadable || !strings.Contains(f.logs.String(), expect.Log) {
				t.Errorf("%v unreadable records, want %d, and the log %q:\n%s", unreadable, expect.Unreadable, expect.Log, f.logs)
			}
		})
	}
}

// strangersDetector returns a detector on a table with this partition key, or on hotshard's own items if it is "".
func strangersDetector(t *testing.T, partitionKey string) *fixture {
	t.Helper()
	f := newFixture(settings())
	if partitionKey != "" {
		f.rebuild(t, existing("heat", "parcels"), func(d *hotkeys.Deps) {
			d.Source, d.Shards = heat.CountedTable{Table: "parcels", PartitionKey: partitionKey}, nil
		})
	}
	return f
}
