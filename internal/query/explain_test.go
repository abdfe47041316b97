package query

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// account is a fake of an account with two tables. It records calls and denies some.
type account struct {
	mu     sync.Mutex
	calls  []string
	denied []string
	slow   bool // DescribeTable ends at the deadline

	attachedTo string // the watched table, if hotshard's own tables do not exist
}

func (a *account) call(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, name)
	if slices.Contains(a.denied, name) {
		return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized"}
	}
	return nil
}

func (a *account) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	if err := a.call("DescribeTable"); err != nil {
		return nil, err
	}
	if a.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if a.attachedTo != "" && *in.TableName != a.attachedTo {
		return nil, &types.ResourceNotFoundException{}
	}
	arn := "arn:aws:dynamodb:eu-west-1:1:table/" + *in.TableName
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{
		TableArn: &arn, BillingModeSummary: &types.BillingModeSummary{BillingMode: types.BillingModePayPerRequest},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{{IndexName: aws.String("by_rank"), IndexArn: aws.String(arn + "/index/by_rank")}},
	}}, nil
}

func (a *account) DescribeLimits(context.Context, *dynamodb.DescribeLimitsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeLimitsOutput, error) {
	return &dynamodb.DescribeLimitsOutput{}, a.call("DescribeLimits")
}

func (a *account) DescribeContributorInsights(context.Context, *dynamodb.DescribeContributorInsightsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContributorInsightsOutput, error) {
	return &dynamodb.DescribeContributorInsightsOutput{}, a.call("DescribeContributorInsights")
}

func (a *account) GetMetricData(context.Context, *cloudwatch.GetMetricDataInput, ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
	return &cloudwatch.GetMetricDataOutput{}, a.call("GetMetricData")
}

func (a *account) GetInsightRuleReport(context.Context, *cloudwatch.GetInsightRuleReportInput, ...func(*cloudwatch.Options)) (*cloudwatch.GetInsightRuleReportOutput, error) {
	return &cloudwatch.GetInsightRuleReportOutput{}, a.call("GetInsightRuleReport")
}

func (a *account) Windows(context.Context, time.Time, time.Time, time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		if err := a.call("heat"); err != nil {
			yield(heat.Window{}, err)
		} else if a.attachedTo != "" {
			item := heat.Item{Table: a.attachedTo, Start: enginetest.Later, Window: 10 * time.Second, Limit: 20, HotRate: 14, Keys: []heat.Key{{Key: "C#page#0", Units: 199, Writes: 199}}}
			yield(heat.Window{Start: item.Start, Items: []heat.Item{item}}, nil)
		}
	}
}

// throttled returns a limiter's counts.
func throttled(context.Context) (collect.Limited, error) {
	reason := throttles.Reason{ID: throttles.ID{Table: "t-items"}, Operation: throttles.Write, Cause: throttles.KeyRange}
	return collect.Limited{
		Since:  enginetest.Later.Add(-time.Minute),
		Counts: []throttles.Count{{Reason: reason, Events: 60, Source: throttles.Source{Name: "limiter", Text: "60 times"}}},
		Keys:   []throttles.Key{{Reason: reason, Key: "C#viral#0", Throttles: 60, Source: "limiter"}},
	}, nil
}

// explaining has the options of an Explainer over an account.
type explaining struct {
	*account
	t   *testing.T
	o   ExplainOptions
	now time.Time
}

func newExplaining(t *testing.T) *explaining {
	e := &explaining{account: &account{}, t: t, now: enginetest.Later}
	keys := HotKeys{Source: e.account, Table: func(string) string { return "t-items" }}
	e.o = ExplainOptions{
		Sources: collect.Sources{DynamoDB: e.account, Limiter: throttled, Heat: keys.Read, Watched: keys.Watched, HeatCalls: "dynamodb:Query on table t-heat"},
		Tables:  []string{"t-items", "t-events"}, PartitionWCU: 20, Deadline: 5 * time.Second, Now: func() time.Time { return e.now },
	}
	return e
}

// serve returns a function that calls GET /v1/explain.
func (e *explaining) serve() func(query string) (int, throttles.Report, string) {
	handler := httpapi.New(slog.New(slog.DiscardHandler), ExplainRoutes(NewExplainer(e.o)))
	return func(query string) (int, throttles.Report, string) {
		e.t.Helper()
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(e.t.Context(), "GET", "/v1/explain"+query, nil))
		var r throttles.Report
		if err := json.Unmarshal(answer.Body.Bytes(), &r); err != nil {
			e.t.Fatalf("%s: %v", answer.Body, err)
		}
		return answer.Code, r, answer.Body.String()
	}
}

// TestExplain checks the report, and that only one poll a minute collects evidence.
func TestExplain(t *testing.T) {
	e := newExplaining(t)
	ask := e.serve()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			status, r, text := ask("")
			if status != 200 || r.Table != "t-*" || r.Throttles != 60 || !r.Counted || r.Unknown != 0 || len(r.Findings) != 1 || r.Notes == nil {
				t.Errorf("%d %s", status, text)
				return
			}
			f := r.Findings[0]
			if f.Reason != "TableWriteKeyRangeThroughputExceeded" || f.Keys[0].Key != "C#viral#0" || f.Keys[0].Throttles != 1 || !strings.Contains(f.Cure, "one takes 20 WCU/s") {
				t.Errorf("the finding is %+v", f)
			}
		})
	}
	group.Wait()
	want := []string{"heat", "DescribeTable", "DescribeTable", "DescribeLimits", "heat"}
	if !slices.Equal(e.calls, want) {
		t.Errorf("8 polls made the calls %q, want %q", e.calls, want)
	}
	e.now = e.now.Add(explainedFor)
	if _, r, _ := ask(""); len(e.calls) != 2*len(want) || !r.To.Equal(e.now) {
		t.Errorf("a minute later: %d calls, to %v", len(e.calls), r.To)
	}
	if _, r, _ := ask("?table=events"); r.Table != "t-events" || r.Throttles != 0 {
		t.Errorf("another table: %+v", r)
	}
	if _, r, _ := ask("?table=t-items&index=by_rank&since=24h"); r.Table != "t-items" || r.Throttles != 0 {
		t.Errorf("an index: %+v", r)
	}
}

// TestExplainAttached checks the report on the table that a deployment is attached to, whose name is in its heat. hotshard's
// own tables do not exist.
func TestExplainAttached(t *testing.T) {
	e := newExplaining(t)
	e.attachedTo = "orders"
	reason := throttles.Reason{ID: throttles.ID{Table: "orders"}, Operation: throttles.Write, Cause: throttles.KeyRange}
	e.o.Limiter = func(context.Context) (collect.Limited, error) {
		return collect.Limited{Since: e.now.Add(-time.Hour), Counts: []throttles.Count{{Reason: reason, Events: 60, Source: throttles.Source{Name: "limiter", Text: "60 times"}}}}, nil
	}
	e.o.Advise = Advice(schema.NamesFor("t-"), nil, e.o.Now)
	for query, name := range map[string]string{"": "t-*, orders", "?table=orders": "orders"} {
		_, r, text := e.serve()(query)
		if r.Table != name || len(r.Findings) != 1 || len(r.Findings[0].Keys) != 1 || r.Findings[0].Keys[0].Key != "C#page#0" || r.Findings[0].Cure == "" || strings.Contains(r.Findings[0].Cure, "hotshard writes") {
			t.Errorf("%q: %s", query, text)
		}
		if len(r.Notes) != 1 || r.Notes[0] != "The limiter's counts have no times: they are all since 2126-01-15 11:00:00 UTC, when it started or was last reset." {
			t.Errorf("the notes are %q", r.Notes)
		}
	}
	if status, _, text := e.serve()("?table=others"); status != 422 {
		t.Errorf("another table: %d %s, want a 422", status, text)
	}
}

// TestExplainParameters checks the errors for invalid parameters, for which no evidence is collected.
func TestExplainParameters(t *testing.T) {
	e := newExplaining(t)
	ask := e.serve()
	for query, want := range map[string]string{
		"?since=59s":    "it must be 1m to 24h",
		"?since=25h":    "it must be 1m to 24h",
		"?since=soon":   "query.since",
		"?table=other":  "it must be one of t-items, t-events",
		"?index=other":  "no table has this index",
		"?tables=items": "query.tables",
	} {
		status, _, text := ask(query)
		if status != 422 || !strings.Contains(text, want) || strings.Contains(text, "--") {
			t.Errorf("%s: %d %s, want %q", query, status, text, want)
		}
	}
	for _, call := range e.calls {
		if call != "DescribeTable" && call != "heat" { // for the indexes and the watched tables
			t.Errorf("invalid parameters made the call %s", call)
		}
	}
}

// TestExplainWithoutPermissions checks that each missing permission is one note in a report with the rest.
func TestExplainWithoutPermissions(t *testing.T) {
	for call, want := range map[string]string{
		"DescribeTable":               "Indexes, capacities and limits of t-events are unknown: allow dynamodb:DescribeTable to know.",
		"DescribeLimits":              "The account's quotas are unknown: allow dynamodb:DescribeLimits to know.",
		"GetMetricData":               "Throttles by reason are unknown: allow cloudwatch:GetMetricData to know.",
		"DescribeContributorInsights": "Whether Contributor Insights lists throttled keys is unknown: allow dynamodb:DescribeContributorInsights to know.",
		"heat":                        "Hot keys are unknown: allow dynamodb:Query on table t-heat to know.",
	} {
		e := newExplaining(t)
		e.o.CloudWatch, e.denied = e.account, []string{call}
		status, r, text := e.serve()("")
		if status != 200 || !slices.Contains(r.Notes, want) || len(r.Findings) != 1 {
			t.Errorf("without %s: %d %s", call, status, text)
		}
	}
}

// TestExplainIsBounded checks that a report ends at the deadline with a 503, which is not cached.
func TestExplainIsBounded(t *testing.T) {
	e := newExplaining(t)
	e.o.Deadline, e.slow = 300*time.Millisecond, true
	ask := e.serve()
	if status, _, text := ask(""); status != 503 {
		t.Errorf("%d %s", status, text)
	}
	e.slow = false
	if status, _, text := ask(""); status != 200 {
		t.Errorf("after the failure: %d %s, want a 200", status, text)
	}
}

// TestAdviceForOwnTables checks that no advice is to shard a key of hotshard's own.
func TestAdviceForOwnTables(t *testing.T) {
	advise := Advice(schema.NamesFor("t-"), nil, func() time.Time { return enginetest.Later })
	for table, want := range map[string]string{"t-shard-map": "If it is brief, do nothing", "t-rollups": "If it is brief, do nothing", "t-heat": "If it is brief, do nothing", "t-items": ""} {
		k := throttles.Key{Reason: throttles.Reason{ID: throttles.ID{Table: table}, Operation: throttles.Read}, Key: "C#page#0"}
		if got := advise(t.Context(), k); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
	}
}
