package fold

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestStrangersPayloads checks the payloads in events/strangers against what their members expect say: the counters and
// the failures that are noted, or a text of the error. A payload is delivered twice.
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
					Counters map[string]string `json:"counters"`
					Noted    []string          `json:"noted"`
					Fault    string            `json:"fault"`
				} `json:"expect"`
			}
			require.NoError(t, json.Unmarshal(payload, &want))
			b, db := newBench(t, nil)
			for range 2 {
				failed, err := hand(b.handler, payload)
				if fault := want.Expect.Fault; fault != "" {
					if err == nil || !strings.Contains(err.Error(), fault) {
						t.Errorf("error %v, want %q", err, fault)
					}
					return
				}
				if err != nil || len(failed) > 0 {
					t.Fatalf("failed: %v, %v", failed, err)
				}
			}
			for name, value := range want.Expect.Counters {
				if got := b.value(t, name); got != value {
					t.Errorf("%s is %s, want %s", name, got, value)
				}
			}
			if noted := slices.Sorted(maps.Keys(failures(t, db, b.handler.table))); !slices.Equal(noted, want.Expect.Noted) {
				t.Errorf("noted %q, want %q", noted, want.Expect.Noted)
			}
		})
	}
}
