package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/hotshard/hotshard/internal/awscall"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/local/system"
)

// cloud is a stand-in for STS and CloudFormation. The stack is there when the checkout's make has
// deployed it, and goes some looks after its removal was asked for.
type cloud struct {
	checkout string
	told     recorder

	mu      sync.Mutex
	account string
	removed int // looks since the removal was asked for; 0 is not asked for
}

func newCloud(t *testing.T, makefile string) *cloud {
	t.Helper()
	c := &cloud{checkout: t.TempDir(), account: "123456789012"}
	if err := os.Mkdir(filepath.Join(c.checkout, "infra"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"infra/cdk.json": "{}", "Makefile": makefile} {
		if err := os.WriteFile(filepath.Join(c.checkout, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, notDeployed := os.Stat(filepath.Join(c.checkout, "deployed"))
	switch action := r.FormValue("Action"); {
	case action == "GetCallerIdentity":
		fmt.Fprintf(w, "<A><GetCallerIdentityResult><Account>%s</Account></GetCallerIdentityResult></A>", c.account)
	case action == "DeleteStack":
		c.removed = 1
		fmt.Fprint(w, "<A/>")
	case action == "DescribeStacks" && (notDeployed != nil || c.removed > 3):
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "<ErrorResponse><Error><Code>ValidationError</Code><Message>it does not exist</Message></Error></ErrorResponse>")
	case action == "DescribeStacks":
		status := "CREATE_IN_PROGRESS"
		if c.removed > 0 {
			c.removed++
			status = "DELETE_IN_PROGRESS"
		}
		fmt.Fprintf(w, "<A><DescribeStacksResult><Stacks><member><StackStatus>%s</StackStatus></member></Stacks></DescribeStacksResult></A>", status)
	default:
		http.Error(w, "nobody expects "+action, http.StatusTeapot)
	}
}

// gone tells whether the removal was asked for, and seen.
func (c *cloud) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removed > 3
}

// GetMetricData is CloudWatch's: each sum is of two minutes with 5 each.
func (c *cloud) GetMetricData(_ context.Context, in *cloudwatch.GetMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
	out := &cloudwatch.GetMetricDataOutput{}
	for _, q := range in.MetricDataQueries {
		out.MetricDataResults = append(out.MetricDataResults, types.MetricDataResult{Id: q.Id, Values: []float64{5, 5}})
	}
	return out, nil
}

// site is an account in which CloudFormation and STS are the stand-in's, and DynamoDB is the
// engine's with a database of its own.
func (c *cloud) site(t *testing.T) AWS {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	db := enginetest.Client(t)
	config := aws.Config{
		Region: "us-east-1", Credentials: db.Options().Credentials, BaseEndpoint: db.Options().BaseEndpoint, HTTPClient: db.Options().HTTPClient,
	}
	return AWS{
		Config: config, Checkout: c.checkout, Metrics: c, Output: io.Discard, Called: c.told.called,
		Waiting: Waiting{Pause: 10 * time.Millisecond, Metrics: time.Millisecond},
		Sign: func(_ context.Context, r *http.Request, _ []byte) error {
			r.Header.Set("Authorization", "signed")
			c.told.called("execute-api:Invoke")
			return nil
		},
		Calls: &awscall.Client{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
			Endpoint: func(string) string { return server.URL }, Called: func(a awscall.Action) { c.told.called(string(a)) },
		},
	}
}

// api starts a system, as a deployment's.
func api(t *testing.T) string {
	t.Helper()
	s, err := system.Start(t.Context(), system.Options{
		Addr: "127.0.0.1:0", Endpoint: enginetest.Endpoint(t), Prefix: enginetest.Prefix("deployed"), Window: time.Second, Control: "act",
		Failures: filepath.Join(t.TempDir(), "failures.jsonl"), Notices: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

// deploys is a Makefile that has the stack be there, writes what it was told, and the outputs.
const deploys = `
deploy:
	@echo '$(APPROVAL) $(CONTEXT)' > told
	@touch deployed
	@printf '{"%%s":{"ApiUrl":"%s/"}}' "$$(echo '$(CONTEXT)' | sed 's/-c prefix=\([^ ]*\)- .*/\1/')" > $(word 2,$(ARGS))
`

// TestRunOnAWS goes the whole way of a run on an account, with stand-ins for what this machine has
// not. Its calls are those of the policy in docs/prove.md, and no others.
func TestRunOnAWS(t *testing.T) {
	t.Parallel()
	c := newCloud(t, fmt.Sprintf(deploys, api(t)))
	folder := t.TempDir()
	site := c.site(t)
	site.Settings = []string{"hotkeysConcurrency=0"}
	plan := tiny()
	plan.Onset = []float64{0.5}
	report, err := Run(t.Context(), Options{Site: site, Plan: plan, Ceiling: 5, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(filepath.Join(c.checkout, "told"))
	want := "never -c prefix=hotshard-prove-" + report.Run + "- -c removal=destroy -c deletionProtection=false -c terminationProtection=false -c pitr=false -c hotkeysConcurrency=0\n"
	if err != nil || string(told) != want {
		t.Errorf("make was told %q, %v, want %q", told, err, want)
	}
	if !c.gone() {
		t.Error("the stack is there")
	}
	if paths, err := notes(folder); err != nil || paths != nil {
		t.Errorf("notes %v, %v", paths, err)
	}
	// Three tables and the run's own, and four functions: 10 of each metric.
	if b := report.Billed; b.WriteUnits != 10*float64(len(metricsOf(aRecord))-8)/2 || b.Invocations != 40 || b.Requests != 20 || math.Abs(b.GBSeconds-0.05) > 1e-9 {
		t.Errorf("billed are %+v", b)
	}
	if len(report.Storms) != 2 || len(report.Keyed) != 1 || report.Storms[0].Found != report.Storms[0].Accepted {
		t.Errorf("%+v", report)
	}
	content, err := os.ReadFile("../../docs/prove.md")
	if err != nil {
		t.Fatal(err)
	}
	if called, listed := c.told.all(), policy(t, string(content)); !slices.Equal(called, listed) {
		t.Errorf("called were\n%v, and the policy has\n%v", called, listed)
	}
}

// policy are the actions of the policy in a page, but for the deployment's, which assumes roles.
func policy(t *testing.T, page string) (actions []string) {
	t.Helper()
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(page)
	var document struct {
		Statement []struct {
			Action   []string
			Resource any
		}
	}
	if block == nil {
		t.Fatal("docs/prove.md has no policy")
	}
	if err := json.Unmarshal([]byte(block[1]), &document); err != nil {
		t.Fatal(err)
	}
	for _, s := range document.Statement {
		for _, action := range s.Action {
			if action != "sts:AssumeRole" {
				actions = append(actions, action)
			}
		}
	}
	slices.Sort(actions)
	return actions
}

// TestDeploymentsThatFail are removed, as far as they came.
func TestDeploymentsThatFail(t *testing.T) {
	t.Parallel()
	for name, deploy := range map[string]string{
		"it fails":                     "@touch deployed; exit 3",
		"it has no outputs":            "@touch deployed",
		"it goes on until Ctrl-C":      "@touch deployed; sleep 100",
		"Ctrl-C, with work of its own": "@touch deployed; (sleep 100; touch late) & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, "deploy:\n\t"+deploy+"\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for strings.Contains(name, "Ctrl-C") && ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(c.checkout, "deployed")); err == nil {
						cancel()
					}
					wait(ctx, 5*time.Millisecond)
				}
			}()
			folder := t.TempDir()
			report, err := Run(ctx, Options{Site: c.site(t), Plan: tiny(), Ceiling: 5, Folder: folder})
			if err == nil || report == nil || report.Fault == "" || !c.gone() {
				t.Errorf("%v, %+v, the stack is gone: %t", err, report, c.gone())
			}
			if paths, err := notes(folder); err != nil || paths != nil {
				t.Errorf("notes %v, %v", paths, err)
			}
		})
	}
}

// TestOrphans: while what a killed run started is at work, nobody cleans up after it.
func TestOrphans(t *testing.T) {
	t.Parallel()
	c := newCloud(t, "deploy:\n\t@touch deployed; sleep 100\n")
	site, folder := c.site(t), t.TempDir()
	held, r := newNote(t, folder, func(r *Record) { r.Region, r.Account = "us-east-1", "123456789012" })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := site.deploy(ctx, r, held)
		ended <- err
	}()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(c.checkout, "deployed")); err == nil {
			break
		}
	}
	if err := held.file.Close(); err != nil { // as the process' end would
		t.Fatal(err)
	}
	if _, _, err := openNote(held.path); !errors.Is(err, errBusy) {
		t.Errorf("while the child is at work: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the deployment ended by %v", err)
	}
	where := func(Record) (Site, error) { return site, nil }
	c.mu.Lock()
	c.account = "999999999999"
	c.mu.Unlock()
	if err := Clean(t.Context(), folder, where, io.Discard); err == nil || !strings.Contains(err.Error(), "is in account 123456789012, Region us-east-1; these credentials are of account 999999999999") {
		t.Errorf("by another account: %v", err)
	}
	c.mu.Lock()
	c.account = "123456789012"
	c.mu.Unlock()
	if err := Clean(t.Context(), folder, where, io.Discard); err != nil || !c.gone() {
		t.Errorf("%v, the stack is gone: %t", err, c.gone())
	}
}

// TestSettings: a run's own settings can't be changed, nor anything else be slipped in.
func TestSettings(t *testing.T) {
	for _, wrong := range []string{"prefix=x-", "removal=retain", "deletionProtection=true", "terminationProtection=true", "sourceTable=orders", "auth=jwt", "x", "x=$(touch y)", "x=a b", "x='"} {
		if _, err := DeploySettings("hotshard-prove-abcdefgh-", []string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	c := newCloud(t, "")
	site := AWS{Checkout: c.checkout}
	if err := site.checkCheckout(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(c.checkout, "infra", "cdk.context.json"), []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := site.checkCheckout(); err == nil || !strings.Contains(err.Error(), "a clone of its own") {
		t.Error(err)
	}
	if err := (AWS{Checkout: t.TempDir()}).checkCheckout(); err == nil || !strings.Contains(err.Error(), "from a checkout of hotshard") {
		t.Error(err)
	}
}
