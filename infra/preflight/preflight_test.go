package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/base/awscall"
)

// responses are an account's, by operation, or by operation and requested name.
type responses map[string]string

const (
	denied   = `403 {"__type":"AccessDeniedException","message":"no"}`
	noStack  = `400 <ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id hotshard does not exist</Message></Error></ErrorResponse>`
	noTable  = `400 {"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"not found"}`
	noQuota  = `400 {"__type":"NoSuchResourceException","message":"none applied"}`
	complete = `200 <DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackStatus>%s</StackStatus></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
)

func stackIn(status string) string { return fmt.Sprintf(complete, status) }

func limits(all, unreserved int) string {
	return fmt.Sprintf(`200 {"AccountLimit":{"ConcurrentExecutions":%d,"UnreservedConcurrentExecutions":%d}}`, all, unreserved)
}

func quotaOf(n int) string { return fmt.Sprintf(`200 {"Quota":{"Value":%d}}`, n) }

// good is an account that is ready for a first deployment.
func good() responses {
	return responses{
		"GetCallerIdentity":                             `200 <GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/ann</Arn><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`,
		"GetParameter /cdk-bootstrap/hnb659fds/version": `200 {"Parameter":{"Value":"21"}}`,
		"DescribeStacks hotshard":                       noStack,
		"DescribeTable":                                 noTable,
		"GetAccountSettings":                            limits(1000, 1000),
		"GetServiceQuota L-CF0CBE56":                    quotaOf(40000),
		"GetServiceQuota L-AB614373":                    quotaOf(40000),
		"GetServiceQuota L-34F6A552":                    quotaOf(80000),
		"GetServiceQuota L-34F8CCC8":                    quotaOf(80000),
		"GetServiceQuota L-8A5B8E43":                    quotaOf(10000),
	}
}

// streamOf returns a page with open and closed stream shards. If after is not "", another page follows.
func streamOf(open, closed int, after string) string {
	shards := slices.Concat(slices.Repeat([]string{`{"SequenceNumberRange":{"StartingSequenceNumber":"1"}}`}, open),
		slices.Repeat([]string{`{"SequenceNumberRange":{"StartingSequenceNumber":"1","EndingSequenceNumber":"2"}}`}, closed))
	return fmt.Sprintf(`200 {"StreamDescription":{"Shards":[%s],"LastEvaluatedShardId":%q}}`, strings.Join(shards, ","), after)
}

// grown returns a deployed account whose stream has this number of open stream shards, on two pages.
func grown(open int) responses {
	return good().with(responses{
		"DescribeStacks hotshard": stackIn("UPDATE_COMPLETE"), "GetFunctionConcurrency": `200 {"ReservedConcurrentExecutions":100}`,
		"GetAccountSettings":           limits(1000, 800),
		"DescribeTable hotshard-items": `200 {"Table":{"LatestStreamArn":"arn:s"}}`,
		"DescribeStream arn:s":         streamOf(open-1, 2, "s-100"), "DescribeStream arn:ss-100": streamOf(1, 1, ""),
	})
}

// with returns these responses with some replaced.
func (a responses) with(others responses) responses {
	maps.Copy(a, others)
	return a
}

// serve responds as the account does, and records the requested operations.
func (a responses) serve(t *testing.T) (*awscall.Client, func() []string) {
	t.Helper()
	var actions []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation, of := operationOf(t, r)
		response, ok := a[operation+" "+of]
		if !ok {
			response, ok = a[operation]
		}
		if !ok {
			t.Errorf("unexpected call of %s %s", operation, of)
		}
		var status int
		text := ""
		if _, err := fmt.Sscan(response, &status); err == nil {
			_, text, _ = strings.Cut(response, " ")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return &awscall.Client{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		Endpoint: func(string) string { return server.URL }, Sleep: func(context.Context, time.Duration) {},
		Called: func(a awscall.Action) { actions = append(actions, string(a)) },
	}, func() []string { return slices.Compact(slices.Sorted(slices.Values(actions))) }
}

// operationOf returns the operation and the subject of a request.
func operationOf(t *testing.T, r *http.Request) (operation, of string) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		var in map[string]string
		if err := json.Unmarshal(body, &in); err != nil {
			t.Error(err)
		}
		_, operation, _ = strings.Cut(target, ".")
		return operation, in["Name"] + in["TableName"] + in["QuotaCode"] + in["StreamArn"] + in["ExclusiveStartShardId"]
	}
	if function, ok := strings.CutPrefix(r.URL.Path, "/2019-09-30/functions/"); ok {
		return "GetFunctionConcurrency", strings.TrimSuffix(function, "/concurrency")
	}
	if r.URL.Path == "/2016-08-19/account-settings/" {
		return "GetAccountSettings", ""
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		t.Error(err)
	}
	return form.Get("Action"), form.Get("StackName")
}

// attached are the settings of a deployment that is attached to a table.
var attached = map[string]any{
	"prefix": "orders-", "sourceTable": "orders", "email": "a@example.com", "hotkeysConcurrency": "100",
	"sourceStreamArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000",
}

// adopted are the settings of a deployment that is attached to an adopted table.
var adopted = map[string]any{
	"prefix": "orders-", "sourceTable": "orders", "email": "a@example.com", "hotkeysConcurrency": "0", "control": "act", "sourceMap": "orders-map", "sourceLayout": "random",
	"sourceStreamArn": attached["sourceStreamArn"],
}

// TestFindings checks preflight's finding for the state of an account, and whether it fails.
func TestFindings(t *testing.T) {
	reserved := map[string]any{"email": "a@example.com", "hotkeysConcurrency": "100", "aggregatorConcurrency": "100", "ingestConcurrency": "0", "queryConcurrency": "0"}
	none := map[string]any{"email": "a@example.com", "hotkeysConcurrency": "0", "aggregatorConcurrency": "0"}
	for name, c := range map[string]struct {
		settings map[string]any
		account  responses
		imports  bool
		want     string // a level and texts, separated by |
		fails    bool
	}{
		"ready": {settings: reserved, account: good(), want: "ok|this is its first deployment"},
		"rejected credentials": {settings: none, fails: true, want: "FAIL|credentials|InvalidClientTokenId",
			account: responses{"GetCallerIdentity": `403 <ErrorResponse><Error><Code>InvalidClientTokenId</Code><Message>no</Message></Error></ErrorResponse>`}},
		"no email":      {settings: map[string]any{"hotkeysConcurrency": "0", "aggregatorConcurrency": "0"}, account: good(), want: "warn|no recipient is set"},
		"not prepared":  {settings: none, fails: true, want: "FAIL|make bootstrap", account: good().with(responses{"GetParameter /cdk-bootstrap/hnb659fds/version": `400 {"__type":"ParameterNotFound"}`})},
		"old bootstrap": {settings: none, fails: true, want: `FAIL|version is "5"|make bootstrap`, account: good().with(responses{"GetParameter /cdk-bootstrap/hnb659fds/version": `200 {"Parameter":{"Value":"5"}}`})},
		"bootstrap denied": {settings: none, want: "warn|bootstrap: not checked|may not read it",
			account: good().with(responses{"GetParameter /cdk-bootstrap/hnb659fds/version": denied})},
		"an update": {settings: reserved, want: "ok|it is deployed (UPDATE_COMPLETE)",
			account: good().with(responses{"DescribeStacks hotshard": stackIn("UPDATE_COMPLETE"), "GetFunctionConcurrency": `200 {}`})},
		"a failed first deployment": {settings: none, fails: true, want: "FAIL|ROLLBACK_COMPLETE|make destroy",
			account: good().with(responses{"DescribeStacks hotshard": stackIn("ROLLBACK_COMPLETE"), "GetFunctionConcurrency": `404 {"__type":"ResourceNotFoundException"}`})},
		"a deployment in progress": {settings: none, fails: true, want: "FAIL|UPDATE_IN_PROGRESS|wait",
			account: good().with(responses{"DescribeStacks hotshard": stackIn("UPDATE_IN_PROGRESS"), "GetFunctionConcurrency": `200 {}`})},
		"a change set that was only reviewed": {settings: none, want: "ok|this is its first deployment", account: good().with(responses{"DescribeStacks hotshard": stackIn("REVIEW_IN_PROGRESS")})},
		"stack denied, and a table exists": {settings: none, want: "warn|hotshard-items exist; if they are not",
			account: good().with(responses{"DescribeStacks hotshard": denied, "DescribeTable hotshard-items": `200 {}`, "GetFunctionConcurrency": `200 {}`})},
		"a retained table":                       {settings: none, fails: true, want: "FAIL|hotshard-items, hotshard-rollups exist|--import-existing-resources", account: good().with(responses{"DescribeTable hotshard-items": `200 {}`, "DescribeTable hotshard-rollups": `200 {}`})},
		"tables to import":                       {settings: none, imports: true, want: "ok|hotshard-items would be imported", account: good().with(responses{"DescribeTable hotshard-items": `200 {}`})},
		"tables denied":                          {settings: none, want: "warn|table hotshard-items: not checked", account: good().with(responses{"DescribeTable": denied})},
		"a new account":                          {settings: reserved, fails: true, want: "FAIL|the account has 10|hotkeysConcurrency=0 and aggregatorConcurrency=0|request 290 more", account: good().with(responses{"GetAccountSettings": limits(10, 10)})},
		"a new account, and nothing is reserved": {settings: none, want: "warn|the account has 10|request 1000", account: good().with(responses{"GetAccountSettings": limits(10, 10)})},
		"just enough":                            {settings: reserved, want: "ok|1000, of which the settings reserve 200", account: good().with(responses{"GetAccountSettings": limits(1000, 300)})},
		"another quota than the alarm knows":     {settings: reserved, want: "warn|the account has 5000, and accountConcurrency is 1000|set accountConcurrency=5000", account: good().with(responses{"GetAccountSettings": limits(5000, 5000)})},
		"one too few":                            {settings: reserved, fails: true, want: "FAIL|request 1 more", account: good().with(responses{"GetAccountSettings": limits(1000, 299)})},
		"existing reservations count": {settings: reserved, want: "ok|the settings reserve 200",
			account: good().with(responses{"DescribeStacks hotshard": stackIn("CREATE_COMPLETE"), "GetAccountSettings": limits(1000, 100),
				"GetFunctionConcurrency": `200 {}`, "GetFunctionConcurrency hotshard-hotkeys": `200 {"ReservedConcurrentExecutions":100}`,
				"GetFunctionConcurrency hotshard-aggregator": `200 {"ReservedConcurrentExecutions":100}`})},
		"Lambda denied": {settings: reserved, want: "warn|Lambda's concurrency: not checked", account: good().with(responses{"GetAccountSettings": denied})},
		"a quota that was never raised": {settings: none, want: "ok|5000 requests a second, and the quota of all APIs of the account is 10000",
			account: good().with(responses{"GetServiceQuota L-8A5B8E43": noQuota, "GetAWSDefaultServiceQuota L-8A5B8E43": quotaOf(10000)})},
		"more requests than all APIs have":      {settings: map[string]any{"email": "a@example.com", "hotkeysConcurrency": "0", "aggregatorConcurrency": "0", "apiRate": "20000"}, want: "warn|apiRate is 20000|10000", account: good()},
		"more warm throughput than a table has": {settings: map[string]any{"hotkeysConcurrency": "0", "aggregatorConcurrency": "0", "warmWriteUnits": "50000"}, fails: true, want: "FAIL|warmWriteUnits is 50000|40000", account: good()},
		"more warm throughput of events":        {settings: map[string]any{"hotkeysConcurrency": "0", "aggregatorConcurrency": "0", "warmEventsWriteUnits": "50000"}, fails: true, want: "FAIL|warmEventsWriteUnits is 50000|40000", account: good()},
		"more warm throughput of rollups":       {settings: map[string]any{"hotkeysConcurrency": "0", "aggregatorConcurrency": "0", "warmRollupsWriteUnits": "50000"}, fails: true, want: "FAIL|warmRollupsWriteUnits is 50000|40000", account: good()},
		"more warm throughput of indexes":       {settings: map[string]any{"hotkeysConcurrency": "0", "aggregatorConcurrency": "0", "warmIndexReadUnits": "50000"}, fails: true, want: "FAIL|warmIndexReadUnits is 50000|40000", account: good()},
		"more provisioned than a table has":     {settings: provisioned(45_000, 50_000), fails: true, want: "FAIL|minWriteUnits 45000|40000", account: good()},
		"more provisioned than the account has": {settings: provisioned(30_000, 40_000), fails: true, want: "FAIL|min...WriteUnits add up to 60003|40000", account: good().with(responses{"GetServiceQuota L-34F8CCC8": quotaOf(40_000)})},
		"growth above the account's quota":      {settings: provisioned(1000, 30_000), want: "warn|max...WriteUnits add up to 120010|80000", account: good()},
		"provisioned, and there is enough":      {settings: provisioned(1000, 10_000), want: "ok|up to 40010, and the quota of all tables of the account is 80000", account: good()},
		"stream shards that fit":                {settings: reserved, want: "ok|50 are open|may read 100", account: grown(50)},
		"stream shards for longer deliveries":   {settings: reserved, want: "warn|51 are open|set streamShards=51|wait 5s", account: grown(51)},
		"more stream shards than may be read":   {settings: reserved, want: "warn|81 are open|may run 100|hotkeysConcurrency=102 and aggregatorConcurrency=102", account: grown(81)},
		"more stream shards expected": {settings: map[string]any{"email": "a@example.com", "streamShards": "156"},
			want: "warn|0 are open and streamShards is 156|hotkeysConcurrency=196", account: good()},
		"stream denied":           {settings: reserved, want: "warn|stream shards: not checked", account: grown(5).with(responses{"DescribeStream arn:s": denied})},
		"a bound above the quota": {settings: map[string]any{"hotkeysConcurrency": "0", "aggregatorConcurrency": "0", "maxReadUnits": "50000"}, want: "warn|maxReadUnits is 50000|40000", account: good()},
		"quotas denied":           {settings: none, want: "warn|a table's writes: not checked", account: good().with(responses{"GetServiceQuota L-AB614373": denied})},
		"an attached deployment": {settings: attached, want: "ok|of which the settings reserve 100",
			account: responses{"GetCallerIdentity": good()["GetCallerIdentity"], "GetParameter": `200 {"Parameter":{"Value":"21"}}`, "DescribeStacks orders": noStack, "DescribeTable": noTable, "GetAccountSettings": limits(1000, 1000),
				"DescribeStream arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000": streamOf(4, 1, "")}},
		"an adopted table":               {settings: adopted, want: "ok|orders-map exists", account: good().with(responses{"DescribeStacks orders": noStack, "DescribeTable orders-map": `200 {}`, "DescribeStream": streamOf(4, 1, "")})},
		"an adopted table without a map": {settings: adopted, fails: true, want: "FAIL|there is no table orders-map|shardmap.New", account: good().with(responses{"DescribeStacks orders": noStack, "DescribeStream": streamOf(4, 1, "")})},
		"its shard map denied":           {settings: adopted, want: "warn|shard map of the adopted table: not checked", account: good().with(responses{"DescribeStacks orders": noStack, "DescribeTable orders-map": denied, "DescribeStream": streamOf(4, 1, "")})},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := config.Parse(c.settings)
			if err != nil {
				t.Fatal(err)
			}
			client, _ := c.account.serve(t)
			findings := Check(t.Context(), settings, Account{Calls: client, Bootstrap: "hnb659fds", Import: c.imports})
			if Failed(findings) != c.fails {
				t.Errorf("Failed = %t, want %t:\n%v", !c.fails, c.fails, findings)
			}
			if !slices.ContainsFunc(findings, func(f Finding) bool { return matches(f, c.want) }) {
				t.Errorf("no finding has %s:\n%v", c.want, findings)
			}
			for _, f := range findings {
				if strings.Contains(f.Text, "\n") {
					t.Errorf("the finding %q has several lines", f.Text)
				}
			}
		})
	}
}

// provisioned returns settings with these bounds of the write units of items, and of rollups.
func provisioned(least, most int) map[string]any {
	return map[string]any{
		"hotkeysConcurrency": "0", "aggregatorConcurrency": "0", "billing": "provisioned",
		"minReadUnits": "1", "maxReadUnits": "10", "minEventsReadUnits": "1", "maxEventsReadUnits": "10", "minEventsWriteUnits": "1", "maxEventsWriteUnits": "10", "minRollupsReadUnits": "1", "maxRollupsReadUnits": "10",
		"minWriteUnits": fmt.Sprint(least), "maxWriteUnits": fmt.Sprint(most), "minRollupsWriteUnits": fmt.Sprint(least), "maxRollupsWriteUnits": fmt.Sprint(most),
	}
}

// matches reports whether a finding has the level and all texts of a case.
func matches(f Finding, want string) bool {
	level, rest, _ := strings.Cut(want, "|")
	return string(f.Level) == level && !slices.ContainsFunc(strings.Split(rest, "|"), func(text string) bool { return !strings.Contains(f.Text, text) })
}

// TestPermissions checks that docs/deploy.md lists exactly the calls of preflight.
func TestPermissions(t *testing.T) {
	settings, err := config.Parse(map[string]any{"hotkeysConcurrency": "100"})
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, account := range []responses{
		good().with(responses{"GetServiceQuota L-8A5B8E43": noQuota, "GetAWSDefaultServiceQuota": quotaOf(1)}),
		grown(5),
	} {
		client, actions := account.serve(t)
		Check(t.Context(), settings, Account{Calls: client, Bootstrap: "hnb659fds"})
		for _, action := range actions() {
			called[action] = true
		}
	}
	content, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "`make preflight` needs ")
	section, _, _ = strings.Cut(section, ".\n")
	listed := strings.Fields(strings.NewReplacer("`", "", ",", "", "\n", " ", " and ", " ").Replace(section))
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(called)); !slices.Equal(listed, want) {
		t.Errorf("docs/deploy.md lists %v, but preflight calls %v", listed, want)
	}
}

// TestContext checks the precedence of settings: from the command line, then cdk.json, then cdk.context.json.
func TestContext(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cdk.json", `{"app":"x","context":{"b":"app","c":"app","@aws-cdk/core:bootstrapQualifier":"mine"}}`)
	context, err := Context(folder, []string{"c=given", "d=x=y"})
	if err != nil || context["b"] != "app" || context["c"] != "given" || context["d"] != "x=y" || Qualifier(context) != "mine" {
		t.Errorf("without cdk.context.json: %v, %v", context, err)
	}
	write("cdk.context.json", `{"a":"saved","b":"saved"}`)
	context, err = Context(folder, nil)
	if err != nil || context["a"] != "saved" || context["b"] != "app" {
		t.Errorf("with cdk.context.json: %v, %v", context, err)
	}
	write("cdk.context.json", `{"a":`)
	if _, err := Context(folder, nil); err == nil || !strings.Contains(err.Error(), "cdk.context.json") {
		t.Errorf("invalid JSON: error %v, want the file", err)
	}
	if _, err := Context(t.TempDir(), []string{"prefix"}); err == nil || !strings.Contains(err.Error(), "-c prefix: want key=value") {
		t.Errorf("a setting without a value: error %v", err)
	}
	if got := Qualifier(map[string]any{}); got != "hnb659fds" {
		t.Errorf("default qualifier %s, want hnb659fds", got)
	}
}
