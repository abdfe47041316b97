package dynamolocal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

// engineHolder is an environment variable that makes this binary start an engine, print its URL and wait.
const engineHolder = "HOTSHARD_TEST_HOLD_ENGINE"

func TestMain(m *testing.M) {
	if os.Getenv(engineHolder) != "" {
		holdEngine()
	}
	os.Exit(m.Run())
}

func holdEngine() {
	engine, err := dynamolocal.StartEngine(context.Background(), dynamolocal.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(engine.Endpoint())
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// TestEngineKeepsData checks that an engine finds the tables of its last run in the data folder, under another access key.
func TestEngineKeepsData(t *testing.T) {
	t.Parallel()
	require.Engine(t)
	dir := filepath.Join(t.TempDir(), "new", "data")
	names := schema.NamesFor("keep-")
	for run := range 2 {
		engine, err := dynamolocal.StartEngine(t.Context(), dynamolocal.Options{DataDir: dir, SharedDB: true})
		require.NoError(t, err)
		db := dynamolocal.DynamoDB(engine.Endpoint(), "any"+strconv.Itoa(run))
		out, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		if want := run * len(dynamolocal.Tables(names)); err != nil || len(out.TableNames) != want {
			t.Errorf("start %d: %v, %v; want %d tables", run, out, err, want)
		}
		if err := dynamolocal.CreateTables(t.Context(), db, names); err != nil {
			t.Error(err)
		}
		if err := errors.Join(engine.Stop(), engine.Stop()); err != nil {
			t.Error(err)
		}
		<-engine.Done()
	}
}

func TestEngineFailureHasItsOutput(t *testing.T) {
	require.Engine(t)
	_, err := dynamolocal.StartEngine(t.Context(), dynamolocal.Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "Unable to access jarfile") {
		t.Errorf("error = %v, want java's output", err)
	}
}
