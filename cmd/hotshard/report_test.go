package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/report"
)

// asOwner has commands use the credentials of a test's client.
func asOwner(t *testing.T, db *dynamodb.Client) {
	t.Helper()
	keys, err := db.Options().Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", keys.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey)
	t.Setenv("AWS_REGION", db.Options().Region)
}

// TestReportOfATable: a table that hotshard knows nothing of, written by a foreign client, is
// reported on with its viral key; a table without a stream, and one that is not there, are
// errors that say what to do, and leave the file of before.
func TestReportOfATable(t *testing.T) {
	db := enginetest.Client(t)
	asOwner(t, db)
	endpoint := aws.ToString(db.Options().BaseEndpoint)
	for table, stream := range map[string]bool{"orders": true, "quiet": false} {
		in := &dynamodb.CreateTableInput{
			TableName: &table, BillingMode: types.BillingModePayPerRequest,
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("user"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("at"), KeyType: types.KeyTypeRange}},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("user"), AttributeType: "S"}, {AttributeName: aws.String("at"), AttributeType: "S"}},
		}
		if stream {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
		}
		if _, err := db.CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}) })
	}
	const hostile = `</script><img src=x onerror="alert(1)">`
	body := strings.Repeat("x", 5000) // 5 units and more
	for i := range 170 {
		user := hostile
		if i%8 == 0 {
			user = fmt.Sprint("user#", i)
		}
		item := map[string]types.AttributeValue{"user": &types.AttributeValueMemberS{Value: user}, "at": &types.AttributeValueMemberS{Value: fmt.Sprintf("%06d", i)}, "body": &types.AttributeValueMemberS{Value: body}}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "heat.json")
	code, out, errs := hotshard(t, "report", "--table", "orders", "--endpoint", endpoint, "--partition-wcu", "10", "--since", "5m", "-o", file, "--json")
	if code != exitOK || !strings.Contains(out, "was found") && !strings.Contains(out, "were found") {
		t.Fatalf("exit %d, %s, %s", code, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var data report.Data
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	storm := data.Storms[0]
	if storm.Key != hostile || storm.Kind != report.Rising || data.Read.Share != 1 || data.Read.Records != 170 || data.Table != "orders" || data.Cost.Calls["GetRecords"] == 0 {
		t.Errorf("%+v, %+v", storm, data.Read)
	}
	for op := range data.Cost.Calls {
		if op != "DescribeTable" && op != "DescribeStream" && op != "GetShardIterator" && op != "GetRecords" && op != "ListStreams" {
			t.Errorf("%s was called", op)
		}
	}

	page := filepath.Join(t.TempDir(), "heat.html")
	if code, out, errs := hotshard(t, "report", "--table", "orders", "--endpoint", endpoint, "--partition-wcu", "10", "--since", "5m", "-o", page); code != exitOK {
		t.Fatalf("exit %d, %s, %s", code, out, errs)
	}
	html, err := os.ReadFile(page)
	if err != nil || len(html) > 2_000_000 || strings.Contains(string(html), hostile) || !strings.Contains(string(html), "Content-Security-Policy") {
		t.Errorf("%d bytes, %v", len(html), err)
	}
	for table, want := range map[string]string{"quiet": "aws dynamodb update-table --table-name quiet", "nowhere": "there is no table nowhere"} {
		if code, _, errs := hotshard(t, "report", "--table", table, "--endpoint", endpoint, "-o", page); code != exitBad || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", table, code, errs)
		}
	}
	if after, err := os.ReadFile(page); err != nil || string(after) != string(html) {
		t.Errorf("the file of before has %d bytes, %v", len(after), err)
	}
}

// TestReportOfAStack: what a deployment has counted is told as it was counted.
func TestReportOfAStack(t *testing.T) {
	db := enginetest.Client(t)
	asOwner(t, db)
	names := enginetest.Tables(t, db)
	start := time.Now().UTC().Truncate(10 * time.Second).Add(-10 * time.Minute)
	for i := range 6 {
		item := heat.Item{Start: start.Add(time.Duration(i) * 10 * time.Second), Window: 10 * time.Second, StreamShard: "s", Records: 8000, Units: 8000, Limit: 1000, HotRate: 700}
		item.Keys = []heat.Key{{Key: "C#page#0", Units: 7500, PeakAt: item.Start}}
		stored := item.Stored(item.End().Add(time.Hour))
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &names.Heat, Item: stored}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "heat.json")
	code, out, errs := hotshard(t, "report", "--stack", "--tables-prefix", strings.TrimSuffix(names.Heat, "heat"), "--endpoint", aws.ToString(db.Options().BaseEndpoint), "--since", "30m", "-o", file, "--json")
	if code != exitOK {
		t.Fatalf("exit %d, %s, %s", code, out, errs)
	}
	text, err := os.ReadFile(file)
	var data report.Data
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	if err != nil || len(data.Storms) != 1 || data.Storms[0].Low != 750 || data.Storms[0].Key != "C#page#0" || data.Read.Records != 48_000 {
		t.Errorf("%v, %s", err, text)
	}
}

// TestReportUsage: what can't be done is said before anything is read.
func TestReportUsage(t *testing.T) {
	folder := t.TempDir()
	for want, args := range map[string][]string{
		"want one of --table and --stack": {"-o", "x.html"},
		"missing flags":                   {"--table", "t"},
		"--since 30s: want 1m to 24h":     {"--table", "t", "-o", "x.html", "--since", "30s"},
		"--since 25h: want 1m to 24h":     {"--table", "t", "-o", "x.html", "--since", "25h"},
		"--since 169h: want 1m to 168h":   {"--stack", "-o", "x.html", "--since", "169h"},
		"--sample 2: want 0.0005 to 1":    {"--table", "t", "-o", "x.html", "--sample", "2"},
		"--partition-wcu 0: want":         {"--table", "t", "-o", "x.html", "--partition-wcu", "0"},
		"--partition-wcu is for --table":  {"--stack", "-o", "x.html", "--partition-wcu", "20"},
		"--index needs --stack":           {"--table", "t", "-o", "x.html", "--index", "by_rank"},
		"is no file":                      {"--table", "t", "-o", folder, "--endpoint", "http://127.0.0.1:1"},
		"the file of --output":            {"--table", "t", "-o", filepath.Join(folder, "no", "x.html"), "--endpoint", "http://127.0.0.1:1"},
	} {
		if code, out, errs := hotshard(t, append([]string{"report"}, args...)...); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s%s", args, code, out, errs)
		}
	}
}
