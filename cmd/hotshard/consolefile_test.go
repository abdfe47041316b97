package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// asOwner makes commands use the credentials of a test's client.
func asOwner(t *testing.T, db *dynamodb.Client) {
	t.Helper()
	keys, err := db.Options().Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	t.Setenv("AWS_ACCESS_KEY_ID", keys.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey)
	t.Setenv("AWS_REGION", db.Options().Region)
}

// indexedTable creates a table with a stream and the global index by_place, whose partition key has three attributes.
func indexedTable(t *testing.T, db *dynamodb.Client, name string) {
	t.Helper()
	index := types.GlobalSecondaryIndex{IndexName: aws.String("by_place"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("user"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("at"), KeyType: types.KeyTypeRange}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("user"), AttributeType: "S"}, {AttributeName: aws.String("at"), AttributeType: "S"}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	for _, name := range []string{"country", "city", "status"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: "S"})
		index.KeySchema = append(index.KeySchema, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeHash})
	}
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{index}
	_, err := db.CreateTable(t.Context(), in)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}) })
}

// fileAnswers are the answers in a console's file.
type fileAnswers map[string]struct {
	Rows []struct {
		Key, Worst string
		Units      []uint64
	}
	Keys []struct{ Key, Index, Worst, Advice string }
	File struct{ Coverage string }
}

// readAnswers reads the answers in a file. The file must quote its keys and have a policy.
func readAnswers(t *testing.T, path, hostile string) (answers fileAnswers) {
	t.Helper()
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	if len(page) > 2_000_000 || strings.Contains(string(page), hostile) || !strings.Contains(string(page), "Content-Security-Policy") {
		t.Errorf("the page has %d bytes, want at most 2,000,000, quoted keys, and a policy", len(page))
	}
	_, data, _ := strings.Cut(string(page), `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	require.NoError(t, json.Unmarshal([]byte(data), &answers))
	return answers
}

// TestConsoleFileOfTable checks the file of a table with a hot key in the table and in an index. A missing stream or
// table is an error that says what to do, and leaves an existing file unchanged.
func TestConsoleFileOfTable(t *testing.T) {
	db := enginetest.Client(t)
	asOwner(t, db)
	endpoint := aws.ToString(db.Options().BaseEndpoint)
	table := enginetest.Prefix("orders")
	indexedTable(t, db, table)
	const hostile = `</script><img src=x onerror="alert(1)">`
	// With 5 units each, these are 25 WCU/s in one of the engine's minutes, or at least 12 in each of two. Three of four
	// are in the index.
	const records = 340
	for i := range records {
		user := hostile
		if i%8 == 0 {
			user = fmt.Sprint("user#", i)
		}
		it := item{"user": str(user), "at": str(fmt.Sprintf("%06d", i)), "body": str(strings.Repeat("x", 5000))}
		if i%4 != 3 {
			it["country"], it["city"], it["status"] = str("de"), str("berlin"), str("open")
		}
		enginetest.Put(t, db, table, it)
	}
	folder := t.TempDir()
	page := filepath.Join(folder, "heat.html")
	code, out, errs := hotshard(t, "console", "--table", table, "--endpoint", endpoint, "--partition-wcu", "10", "--since", "5m", "--out", page)
	if code != exitOK || !strings.Contains(out, "Every record from ") || !strings.HasSuffix(out, page+"\n") || !strings.Contains(errs, "Reading for at most 10m.") {
		t.Fatalf("exit %d, %s, %s", code, out, errs)
	}
	answers := readAnswers(t, page, hostile)
	var units uint64
	for _, row := range answers["/v1/heat"].Rows {
		if row.Key == hostile && row.Worst == "saturated" {
			for _, n := range row.Units {
				units += n
			}
		}
	}
	if want := uint64(5 * records * 7 / 8); units < want-10 || units > want+10 {
		t.Errorf("%d units of the hot key, want about %d", units, want)
	}
	if rows := answers["/v1/heat?index=by_place"].Rows; len(rows) != 1 || rows[0].Key != "de|berlin|open" {
		t.Errorf("rows of the index %+v", rows)
	}
	hot := answers["/v1/hot-keys"].Keys
	if len(hot) < 2 || hot[0].Key != hostile || hot[1].Index != "by_place" || hot[0].Advice == "" {
		t.Errorf("hot keys %+v, want those of the table and of the index with advice", hot)
	}
	if !strings.HasPrefix(out, answers["/console/about"].File.Coverage) {
		t.Errorf("coverage %+v, output %s", answers["/console/about"], out)
	}

	before, err := os.ReadFile(page)
	require.NoError(t, err)
	quiet := enginetest.Prefix("quiet")
	createTable(t, db, quiet, "", "id")
	for table, want := range map[string]string{quiet: "aws dynamodb update-table --table-name " + quiet, "nowhere": `Table "nowhere" not found at http://`} {
		if code, _, errs := hotshard(t, "console", "--table", table, "--endpoint", endpoint, "--out", page); code != exitBad || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d with %s, want 1 and %s", table, code, errs, want)
		}
	}
	if after, err := os.ReadFile(page); err != nil || string(after) != string(before) {
		t.Errorf("the existing file changed to %d bytes, %v", len(after), err)
	}
	if files, _ := os.ReadDir(folder); len(files) != 1 {
		t.Errorf("files %v, want only the page", files)
	}
}

// TestInterruptedFile checks that an interrupt leaves the earlier file and no other.
func TestInterruptedFile(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "heat.html")
	require.NoError(t, os.WriteFile(page, []byte("earlier"), 0o600))
	err := replaceFile(page, func() ([]byte, error) { return []byte("half"), context.Canceled })
	text, _ := os.ReadFile(page)
	if files, _ := os.ReadDir(folder); !errors.Is(err, context.Canceled) || string(text) != "earlier" || len(files) != 1 {
		t.Errorf("error %v, the file has %q, files %v", err, text, files)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interruption{os.Interrupt})
	var out, errs syncBuffer
	code := run(ctx, []string{"console", "--table", "t", "--out", page, "--endpoint", "http://127.0.0.1:1"}, streams{&out, &errs})
	if files, _ := os.ReadDir(folder); code != exitSignal+2 || len(files) != 1 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit %d with %s, files %v; want 130", code, errs.String(), files)
	}
	require.NoError(t, replaceFile(page, func() ([]byte, error) { return []byte("new"), nil }))
	if text, _ := os.ReadFile(page); string(text) != "new" {
		t.Errorf("the file has %q", text)
	}
}

// TestConsoleFileUsage checks that wrong flags are reported before anything is read.
func TestConsoleFileUsage(t *testing.T) {
	folder := t.TempDir()
	for want, args := range map[string][]string{
		"want one of --table and --stack":             {"--out", "x.html"},
		"--since and --within need --out":             {"--table", "t", "--since", "1h"},
		"--out needs --table: a deployment keeps its": {"--stack", "--out", "x.html"},
		"--since 30s: want 1m to 24h":                 {"--table", "t", "--out", "x.html", "--since", "30s"},
		"--since 25h: want 1m to 24h":                 {"--table", "t", "--out", "x.html", "--since", "25h"},
		"--within 1s: want 10s to 6h":                 {"--table", "t", "--out", "x.html", "--within", "1s"},
		"--partition-wcu 0: want":                     {"--table", "t", "--out", "x.html", "--partition-wcu", "0"},
		"is not a regular file":                       {"--table", "t", "--out", folder, "--endpoint", "http://127.0.0.1:1"},
		"creating a temporary file beside it":         {"--table", "t", "--out", filepath.Join(folder, "no", "x.html"), "--endpoint", "http://127.0.0.1:1"},
	} {
		if code, out, errs := hotshard(t, append([]string{"console"}, args...)...); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d with %s%s, want %s", args, code, out, errs, want)
		}
	}
}

// putLarge writes an item of 300 units. The next writes to a partition of 1 WCU/s are throttled for minutes.
func putLarge(t *testing.T, db *dynamodb.Client, table string, it item) error {
	it["text"] = str(strings.Repeat("x", 300_000))
	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: it})
	return err
}
