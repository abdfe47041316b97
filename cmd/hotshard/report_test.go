package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/tool/report"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// asOwner makes commands use the credentials of a test's client.
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

// TestReportOfTable checks the report of a table with a hot key in the table and in an index. A missing stream or table is
// an error that says what to do, and leaves an existing file unchanged.
func TestReportOfTable(t *testing.T) {
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
			in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{IndexName: aws.String("by_place"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}}
			for _, name := range []string{"country", "city", "status"} {
				in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: "S"})
				in.GlobalSecondaryIndexes[0].KeySchema = append(in.GlobalSecondaryIndexes[0].KeySchema, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeHash})
			}
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
		}
		if _, err := db.CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}) })
	}
	const hostile = `</script><img src=x onerror="alert(1)">`
	// With 5 units each, these are 25 WCU/s in one of the engine's minutes, or at least 12 in each of two. Three of four
	// are in the index.
	const records = 340
	body := strings.Repeat("x", 5000)
	for i := range records {
		user := hostile
		if i%8 == 0 {
			user = fmt.Sprint("user#", i)
		}
		it := item{"user": str(user), "at": str(fmt.Sprintf("%06d", i)), "body": str(body)}
		if i%4 != 3 {
			it["country"], it["city"], it["status"] = str("de"), str("berlin"), str("open")
		}
		putItem(t, db, "orders", it)
	}
	file := filepath.Join(t.TempDir(), "heat.json")
	code, out, errs := hotshard(t, "report", "--table", "orders", "--endpoint", endpoint, "--partition-wcu", "10", "--since", "5m", "-o", file, "--json")
	if code != exitOK || !strings.Contains(out, "hot-key events found") || !strings.Contains(out, fmt.Sprintf("Scanned 100%% of the stream (%d records, 1 shard).", records)) {
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
	if time.Since(data.From.Time) > 4*time.Minute || data.Heat.Step.String() != "1m" || len(data.Heat.Rows) == 0 || !strings.Contains(data.Todo[0], "partition keys") || !strings.Contains(data.Todo[0], "KB") {
		t.Errorf("from %s by %s with %d rows, to do %q", data.From, data.Heat.Step, len(data.Heat.Rows), data.Todo)
	}
	storm := data.Storms[0]
	if storm.Key != hostile || storm.Kind != report.Rising || data.Read.Share != 1 || data.Read.Records != records || data.Table != "orders" || data.Cost.Calls["GetRecords"] == 0 {
		t.Errorf("first storm %+v, read %+v; want the hot key with rising sort keys", storm, data.Read)
	}
	ofIndex := slices.IndexFunc(data.Storms, func(s report.Storm) bool { return s.Index == "by_place" })
	if ofIndex < 0 || data.Storms[ofIndex].Key != "de|berlin|open" || !strings.Contains(strings.Join(data.Todo, ";"), `"de|berlin|open" of the index by_place: `) {
		t.Errorf("storms %+v, to do %q; want one in the index", data.Storms, data.Todo)
	}
	if why := data.Throttles; why == nil || why.Counted || why.Unknown != 1 || !strings.Contains(strings.Join(why.Notes, " "), "The engine has no CloudWatch.") {
		t.Errorf("throttles %+v, want unknown ones, since the engine has no CloudWatch", data.Throttles)
	}
	for op := range data.Cost.Calls {
		if op != "DescribeTable" && op != "DescribeStream" && op != "GetShardIterator" && op != "GetRecords" {
			t.Errorf("the report called %s", op)
		}
	}

	page := filepath.Join(t.TempDir(), "heat.html")
	if code, out, errs := hotshard(t, "report", "--table", "orders", "--endpoint", endpoint, "--partition-wcu", "10", "--since", "5m", "-o", page); code != exitOK {
		t.Fatalf("exit %d, %s, %s", code, out, errs)
	}
	html, err := os.ReadFile(page)
	if err != nil || len(html) > 2_000_000 || strings.Contains(string(html), hostile) || !strings.Contains(string(html), "Content-Security-Policy") {
		t.Errorf("the page has %d bytes, %v; want at most 2,000,000, quoted keys, and a policy", len(html), err)
	}
	for table, want := range map[string]string{"quiet": "aws dynamodb update-table --table-name quiet", "nowhere": `Table "nowhere" not found at http://`} {
		if code, _, errs := hotshard(t, "report", "--table", table, "--endpoint", endpoint, "-o", page); code != exitBad || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d with %s, want 1 and %s", table, code, errs, want)
		}
	}
	if after, err := os.ReadFile(page); err != nil || string(after) != string(html) {
		t.Errorf("the existing file changed to %d bytes, %v", len(after), err)
	}
}

// TestReportOfStack checks the report of a deployment, with its counts and its throttles.
func TestReportOfStack(t *testing.T) {
	db := enginetest.Client(t)
	asOwner(t, db)
	names := enginetest.Tables(t, db)
	start := time.Now().UTC().Truncate(10 * time.Second).Add(-10 * time.Minute)
	for i := range 6 {
		window := heat.Item{Start: start.Add(time.Duration(i) * 10 * time.Second), Window: 10 * time.Second, StreamShard: "s", Records: 8000, Units: 8000, Limit: 1000, HotRate: 700}
		window.Keys = []heat.Key{{Key: "C#page#0", Units: 7500, PeakAt: window.Start}}
		putItem(t, db, names.Heat, window.Stored(window.End().Add(time.Hour)))
	}
	limited := throttledItem(t, db, names.Items, "C#page#0")
	file := filepath.Join(t.TempDir(), "heat.json")
	code, out, errs := hotshard(t, "report", "--stack", "--tables-prefix", strings.TrimSuffix(names.Heat, "heat"), "--endpoint", limited, "--since", "30m", "-o", file, "--json")
	if code != exitOK {
		t.Fatalf("exit %d, %s, %s", code, out, errs)
	}
	text, err := os.ReadFile(file)
	var data report.Data
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	if err != nil || len(data.Storms) != 1 || data.Storms[0].Low != 750 || data.Storms[0].Key != "C#page#0" || data.Read.Records != 48_000 {
		t.Errorf("report %s, %v; want one storm of C#page#0 at 750 WCU/s", text, err)
	}
	why := data.Throttles
	if why == nil || !why.Counted || why.Throttles != 3 || len(why.Findings) != 1 || len(why.Notes) != 0 || !regexp.MustCompile(`3 requests were throttled since 20[-0-9]+ [:0-9]+ UTC, most for TableWriteKeyRangeThroughputExceeded\.`).MatchString(out) {
		t.Fatalf("output %s, want 3 throttles with a reason in %s", out, text)
	}
	if f := why.Findings[0]; f.Keys[0].Key != "C#page#0" || f.Keys[0].Units < 750 || !strings.HasPrefix(f.Cure, "Wait until hotshard adds write shards to counter page, which has 1,") {
		t.Errorf("finding %+v, want C#page#0 and to wait", f)
	}
}

// throttledItem returns the endpoint of a throttling proxy that has throttled three writes of a key.
func throttledItem(t *testing.T, db *dynamodb.Client, table, key string) (endpoint string) {
	t.Helper()
	engine, err := url.Parse(aws.ToString(db.Options().BaseEndpoint))
	if err != nil {
		t.Fatal(err)
	}
	l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 10_000, Base: dynamolocal.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(l.Proxy(engine))
	t.Cleanup(proxy.Close)
	limited := dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.BaseEndpoint, o.Retryer = &proxy.URL, aws.NopRetryer{} })
	for n := range 4 {
		if err := putLarge(t, limited, table, item{"pk": str(key), "sk": str("-")}); (err == nil) != (n == 0) {
			t.Fatalf("write %d: %v", n, err)
		}
	}
	return proxy.URL
}

// putLarge writes an item of 300 units. The next writes to a partition of 1 WCU/s are throttled for minutes.
func putLarge(t *testing.T, db *dynamodb.Client, table string, it item) error {
	it["text"] = str(strings.Repeat("x", 300_000))
	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: it})
	return err
}

// TestReportPlan checks that a range counts as shortened by the oldest record, but not by whole strata.
func TestReportPlan(t *testing.T) {
	for _, tt := range []struct {
		since, age time.Duration
		share      float64
		want       bool
	}{
		{24 * time.Hour, 24 * time.Hour, 0.003, false}, // 259 strata of 333 s are 153 s short
		{24 * time.Hour, 3 * time.Hour, 0.003, true},
		{time.Hour, 3 * time.Hour, 1, false},
		{time.Hour, 10 * time.Minute, 1, true},
	} {
		c := ReportCmd{Since: tt.since, Sample: tt.share}
		p, shortened, err := c.plan(false, time.Now().Add(-tt.age))
		if span := p.To().Sub(p.From); err != nil || shortened != tt.want || span > tt.since || span < min(tt.since-p.Stratum, tt.age) {
			t.Errorf("%+v: range %v, shortened %t, %v", tt, span, shortened, err)
		}
		if _, shortened, err := c.plan(false, time.Time{}); shortened || err != nil {
			t.Errorf("%+v, without an oldest record: shortened %t, %v", tt, shortened, err)
		}
	}
}

// TestReportUsage checks that wrong flags are reported before anything is read.
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
		"--partition-wcu needs --table":   {"--stack", "-o", "x.html", "--partition-wcu", "20"},
		"--index needs --stack":           {"--table", "t", "-o", "x.html", "--index", "by_rank"},
		"is not a regular file":           {"--table", "t", "-o", folder, "--endpoint", "http://127.0.0.1:1"},
		"the file of --output":            {"--table", "t", "-o", filepath.Join(folder, "no", "x.html"), "--endpoint", "http://127.0.0.1:1"},
	} {
		if code, out, errs := hotshard(t, append([]string{"report"}, args...)...); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d with %s%s, want %s", args, code, out, errs, want)
		}
	}
}
