package local_test

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

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
)

// engineHolder, set in the environment, makes this binary a process that starts
// an engine, prints its URL and waits to be killed.
const engineHolder = "HOTSHARD_TEST_HOLD_ENGINE"

func TestMain(m *testing.M) {
	if os.Getenv(engineHolder) != "" {
		holdEngine()
	}
	os.Exit(m.Run())
}

func holdEngine() {
	engine, err := local.StartEngine(context.Background(), local.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(engine.Endpoint())
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func TestEngineKeepsData(t *testing.T) {
	t.Parallel()
	lane.NeedsEngine(t)
	dir := filepath.Join(t.TempDir(), "new", "data")
	names := schema.NamesFor("keep-")
	for run := range 2 {
		engine, err := local.StartEngine(t.Context(), local.Options{DataDir: dir, SharedDB: true})
		if err != nil {
			t.Fatal(err)
		}
		db := local.DynamoDB(engine.Endpoint(), "any"+strconv.Itoa(run))
		out, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		if want := run * len(local.Tables(names)); err != nil || len(out.TableNames) != want {
			t.Errorf("start %d: %v, %v; want %d tables", run, out, err, want)
		}
		if err := local.CreateTables(t.Context(), db, names); err != nil {
			t.Error(err)
		}
		if err := errors.Join(engine.Stop(), engine.Stop()); err != nil {
			t.Error(err)
		}
		<-engine.Done()
	}
}

func TestEngineFailureHasItsOutput(t *testing.T) {
	lane.NeedsEngine(t)
	_, err := local.StartEngine(t.Context(), local.Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "Unable to access jarfile") {
		t.Errorf("error is %v", err)
	}
}
