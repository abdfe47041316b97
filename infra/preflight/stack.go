package preflight

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// leastBootstrap is the first version of the bootstrap stack that the CDK can use, from
// https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html
const leastBootstrap = 6

// bootstrap checks the result of `make bootstrap` in the account and Region: a parameter with its version, which `make
// deploy` reads first.
func (l *checker) bootstrap(ctx context.Context) {
	const what = "bootstrap"
	name := "/cdk-bootstrap/" + l.Bootstrap + "/version"
	var answer struct{ Parameter struct{ Value string } }
	err := l.Calls.JSON(ctx, "ssm:GetParameter", "AmazonSSM", map[string]string{"Name": name}, &answer)
	if awscall.Code(err) == "ParameterNotFound" {
		l.addFinding(Fail, "%s: the CDK is not bootstrapped in this account and Region (no parameter %s): make bootstrap", what, name)
		return
	}
	version, notNumber := strconv.Atoi(answer.Parameter.Value)
	switch {
	case err != nil:
		l.notChecked(what, err)
	case notNumber != nil || version < leastBootstrap:
		l.addFinding(Fail, "%s: its version is %q, and the CDK needs %d or newer: make bootstrap", what, answer.Parameter.Value, leastBootstrap)
	default:
		l.addFinding(OK, "%s: version %d", what, version)
	}
}

// unknown is the status of a stack that can't be read.
const unknown = "unknown"

// stuck are the states in which CloudFormation accepts no deployment, with what to do.
var stuck = map[string]string{
	"ROLLBACK_COMPLETE":      "its first deployment failed: delete it (make destroy)",
	"ROLLBACK_FAILED":        "its first deployment and its rollback failed: delete it (make destroy)",
	"DELETE_FAILED":          "it was not deleted completely: its events in the console have the reason; delete it (make destroy)",
	"UPDATE_ROLLBACK_FAILED": "the rollback of an update failed: continue it in the console",
	"CREATE_FAILED":          "its first deployment failed: delete it (make destroy)",
}

// deployed reads the state of the stack that would be deployed.
func (l *checker) deployed(ctx context.Context) {
	name := strings.TrimSuffix(l.Prefix, "-")
	what := "stack " + name
	var answer struct {
		Status string `xml:"DescribeStacksResult>Stacks>member>StackStatus"`
	}
	err := l.Calls.Query(ctx, "cloudformation:DescribeStacks", "2010-05-15", url.Values{"StackName": {name}}, &answer)
	if awscall.Code(err) == "ValidationError" && strings.Contains(err.Error(), "does not exist") {
		l.addFinding(OK, "%s: this is its first deployment", what)
		return
	}
	if err != nil {
		l.stack = unknown
		l.notChecked(what, err)
		return
	}
	l.stack = answer.Status
	switch {
	case answer.Status == "REVIEW_IN_PROGRESS": // its first change set was not executed
		l.stack = ""
		l.addFinding(OK, "%s: this is its first deployment", what)
	case stuck[answer.Status] != "":
		l.addFinding(Fail, "%s: %s; it is in %s", what, stuck[answer.Status], answer.Status)
	case strings.HasSuffix(answer.Status, "_IN_PROGRESS"):
		l.addFinding(Fail, "%s: it is in %s: wait until that is over", what, answer.Status)
	default:
		l.addFinding(OK, "%s: it is deployed (%s), and will be updated", what, answer.Status)
	}
}

// tables checks whether tables of others have the names of the stack's tables.
func (l *checker) tables(ctx context.Context) {
	if l.stack != "" && l.stack != unknown {
		return // the stack made them
	}
	var taken []string
	for _, table := range schema.Tables(l.Names()) {
		err := l.Calls.JSON(ctx, "dynamodb:DescribeTable", "DynamoDB_20120810", map[string]string{"TableName": table.Name}, nil)
		switch {
		case err == nil:
			taken = append(taken, table.Name)
		case awscall.Code(err) != "ResourceNotFoundException":
			l.notChecked("table "+table.Name, err)
		}
	}
	names := strings.Join(taken, ", ")
	switch {
	case taken == nil:
		l.addFinding(OK, "tables: no other table is known to have their names")
	case l.Import:
		l.addFinding(OK, "tables: %s would be imported", names)
	case l.stack == unknown:
		l.addFinding(Warn, "tables: %s exist; if they are not this stack's, the deployment fails", names)
	default:
		l.addFinding(Fail, "tables: %s exist and do not belong to the stack: import them with make deploy ARGS=--import-existing-resources, or set another prefix", names)
	}
}
