package functions_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
)

// TestStartWithoutSettings checks that a function without its settings exits, and logs their names.
func TestStartWithoutSettings(t *testing.T) {
	for name, setting := range map[string]string{
		"ingest": "HOTSHARD_SHARD_MAP_TABLE", "query": "HOTSHARD_ITEMS_TABLE",
		"hotkeys": "HOTSHARD_HEAT_TABLE", "aggregator": "HOTSHARD_ROLLUPS_TABLE", "reader": "HOTSHARD_ROLLUPS_TABLE",
	} {
		var log bytes.Buffer
		_, err := runtimeapi.Start(t.Context(), runtimeapi.Options{Binary: binary(t, name), Log: &log})
		if err == nil || !strings.Contains(err.Error(), "exit status 1") {
			t.Errorf("%s: error %v, want exit status 1", name, err)
		}
		if text := log.String(); !strings.Contains(text, name+" can't start") || !strings.Contains(text, setting) {
			t.Errorf("%s logged %s, want %s", name, text, setting)
		}
	}
}
