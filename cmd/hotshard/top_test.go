package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestTopOfForeignTable checks that top finds the hot key of a table which another client writes, by its name and its ARN.
func TestTopOfForeignTable(t *testing.T) {
	t.Parallel()
	endpoint, table := enginetest.Endpoint(t), enginetest.Prefix("foreign")
	db := dynamolocal.DynamoDB(endpoint, "")
	createTable(t, db, table, types.StreamViewTypeNewAndOldImages, "customer", "order")
	ctx, interrupt := context.WithCancelCause(t.Context())
	var outs, errOuts [2]syncBuffer
	code := make(chan int, 2)
	for i, named := range []string{table, "arn:aws:dynamodb:eu-west-1:123456789012:table/" + table} {
		go func() {
			code <- run(ctx, []string{"top", "--table", named, "--endpoint", endpoint, "--json", "--partition-wcu", "20", "--duration", "60s"}, streams{out: &outs[i], err: &errOuts[i]})
		}()
	}
	isHot := regexp.MustCompile(`"keys":\[\{"key":"customer-7","status":"(hot|saturated)"`)
	for n := 0; len(code) == 0 && (!isHot.MatchString(outs[0].String()) || !isHot.MatchString(outs[1].String())); n++ { // each item takes ten write units, so a slow machine also makes the key hot; it is hot from 14
		enginetest.Put(t, db, table, item{"customer": str("customer-7"), "order": str(fmt.Sprint(n)), "text": str(strings.Repeat("x", 10_000))})
		time.Sleep(25 * time.Millisecond)
	}
	interrupt(interruption{os.Interrupt})
	for i := range outs {
		if got := <-code; got != 130 || !strings.Contains(errOuts[i].String(), "Local engine: can't check for other stream readers") {
			t.Errorf("exit %d, want 130 with the hot key: %s%s", got, outs[i].String(), errOuts[i].String())
		}
	}
}

// TestTopErrors checks that an error is one line with what is missing, where, and what to do.
func TestTopErrors(t *testing.T) {
	db := enginetest.Client(t)
	asOwner(t, db)
	endpoint := aws.ToString(db.Options().BaseEndpoint)
	names := enginetest.Tables(t, db)
	rejecting := func(code, message string) string {
		target, _ := mapAPI(t, http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazon.coral.service#%s","message":%q}`, code, message))
		return target
	}
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--table", "oders", "--endpoint", endpoint}, `Table "oders" not found at ` + endpoint + `. Check --table and --endpoint.`},
		{[]string{"--table", "oders", "--endpoint", "http://127.0.0.1:1"}, `No DynamoDB at http://127.0.0.1:1 for table "oders": connection refused. Check --endpoint`},
		{[]string{"--table", "oders", "--endpoint", page.URL}, "What answers at " + page.URL + " is not DynamoDB (HTTP status 404)"},
		{[]string{"--table", names.ShardMap, "--endpoint", endpoint}, "has no stream to read its writes from; to enable one, run: aws dynamodb update-table --table-name " + names.ShardMap + " --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES --endpoint-url " + endpoint},
		{[]string{"--table", names.Items, "--index", "nope", "--endpoint", endpoint}, `has no global index "nope". Check --index: `},
		{[]string{"--stack", "--tables-prefix", strings.TrimSuffix(names.Items, "items"), "--index", "nope", "--endpoint", endpoint}, `has no global index "nope". Check --index: by_group, by_rank.`},
		{[]string{"--stack", "--tables-prefix", "nope-", "--endpoint", endpoint}, `No hotshard deployment with the table prefix "nope-" at ` + endpoint},
		{[]string{"--table", "o", "--endpoint", rejecting("AccessDeniedException", "User: arn:aws:iam::1:user/ann is not authorized to perform: dynamodb:DescribeTable on resource: x")}, "Access denied: your credentials may not call dynamodb:DescribeTable for table \"o\""},
		{[]string{"--table", "o", "--endpoint", rejecting("ExpiredTokenException", "expired")}, "have expired. Run aws sso login"},
		{[]string{"--table", "o", "--endpoint", rejecting("UnrecognizedClientException", "no")}, "does not accept the credentials"},
	} {
		code, out, errs := hotshard(t, append([]string{"top", "--duration", "1m"}, c.args...)...)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if last := lines[len(lines)-1]; code != exitBad || out != "" || len(lines) > 2 || !strings.Contains(last, c.want) {
			t.Errorf("%q: exit %d with %s%s\nwant 1 with %s", c.args, code, out, errs, c.want)
		}
	}
}

// TestTopErrorsOfCredentials checks that the error of a credentials provider is final, and has its cause.
func TestTopErrorsOfCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("[profile process]\ncredential_process = false\n"), 0o600))
	for profile, want := range map[string]string{
		"process": ": process provider error: error in credential_process: exit status 1. Set AWS_PROFILE", "": " in eu-west-1. Set AWS_PROFILE, run aws sso login",
	} {
		for name, value := range map[string]string{
			"HOTSHARD_ENDPOINT": "", "AWS_CONFIG_FILE": file, "AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "AWS_PROFILE": profile,
			"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true",
		} {
			t.Setenv(name, value)
		}
		from := heatFlags{Table: "orders", Region: "eu-west-1"}
		config, err := from.awsConfig(t.Context())
		require.NoError(t, err)
		_, err = dynamodb.NewFromConfig(config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
		if eventsource.IsTransient(err) || !errors.Is(err, eventsource.ErrNoCredentials) {
			t.Errorf("%q: IsTransient(%v) = %t, want a final error", profile, err, eventsource.IsTransient(err))
		}
		if text := from.explainError(t.Context(), config, err).Error(); !strings.HasPrefix(text, `No AWS credentials for table "orders" in eu-west-1`) || !strings.Contains(text, want) {
			t.Errorf("explained as %s\nwant %s", text, want)
		}
	}
}
