package hotkeys_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// drain delivers a table's whole stream to the detector.
func drain(t *testing.T, f *fixture, db *dynamodb.Client, names schema.Names, table string) {
	t.Helper()
	source, err := eventsource.OpenStream(t.Context(), db, enginetest.Streams(t, db), table)
	require.NoError(t, err)
	mapping, err := eventsource.NewMapping(eventsource.MappingOptions{
		Name: "test", Source: source, Handler: f.handler, Checkpoints: db, CheckpointTable: dynamolocal.CheckpointTable(names), Logger: discard,
		FailureFile: filepath.Join(t.TempDir(), "failures.jsonl"), Attempts: 1, TumblingWindow: 10 * time.Second, PartialFailures: true,
	})
	require.NoError(t, err)
	if err := mapping.Drain(t.Context()); err != nil || mapping.Stats().GivenUp > 0 {
		t.Fatalf("draining %s: %v, %+v", table, err, mapping.Stats())
	}
}
