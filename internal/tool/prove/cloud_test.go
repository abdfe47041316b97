package prove

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/systemtest"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// cloud is a fake of STS and CloudFormation. The checkout's Makefile creates the stack, which is removed some checks after
// the request.
type cloud struct {
	checkout string
	actions  recorder

	mu      sync.Mutex
	account string
	removed int // checks since the removal was requested; 0 before the request
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
		http.Error(w, "unexpected action "+action, http.StatusTeapot)
	}
}

func (c *cloud) setAccount(account string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.account = account
}

// gone reports whether the stack's removal was requested, and its end checked.
func (c *cloud) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removed > 3
}

// GetMetricData is CloudWatch's call. Each metric has the sum 5 in each of two minutes.
func (c *cloud) GetMetricData(_ context.Context, in *cloudwatch.GetMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
	c.actions.called("cloudwatch:GetMetricData")
	out := &cloudwatch.GetMetricDataOutput{}
	for _, q := range in.MetricDataQueries {
		out.MetricDataResults = append(out.MetricDataResults, types.MetricDataResult{Id: q.Id, Values: []float64{5, 5}})
	}
	return out, nil
}

// site returns an account with fakes of CloudFormation and STS. Its DynamoDB is the engine, with a database of its own.
func (c *cloud) site(t *testing.T) AWS {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	db := enginetest.Client(t)
	config := aws.Config{
		APIOptions: []func(*middleware.Stack) error{awscall.ObserveAttempts(c.actions.called)},
		Region:     "us-east-1", Credentials: db.Options().Credentials, BaseEndpoint: db.Options().BaseEndpoint, HTTPClient: db.Options().HTTPClient,
	}
	return AWS{
		Config: config, Checkout: c.checkout, Metrics: c, Output: io.Discard,
		Waiting: Waiting{Pause: 10 * time.Millisecond, Metrics: time.Millisecond, End: 100 * time.Millisecond},
		Sign: func(_ context.Context, r *http.Request, _ []byte) error {
			r.Header.Set("Authorization", "signed")
			c.actions.called("execute-api:Invoke")
			return nil
		},
		Calls: &awscall.Client{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
			Endpoint: func(string) string { return server.URL }, Called: c.actions.called,
		},
	}
}

// api starts a system as a deployment would.
func api(t *testing.T) string {
	t.Helper()
	return systemtest.Run(t, system.Options{Prefix: enginetest.Prefix("deployed"), Window: time.Second, Idle: time.Second, Control: "act", Notices: io.Discard}).URL()
}

// deploys is the form of a Makefile that creates the stack, and writes its arguments and the outputs.
const deploys = `
deploy:
	@echo '$(APPROVAL) $(CONTEXT)' > arguments
	@touch deployed
	@printf '{"%%s":{"ApiUrl":"%s/"}}' "$$(echo '$(CONTEXT)' | sed 's/-c prefix=\([^ ]*\)- .*/\1/')" > $(word 2,$(ARGS))
`
