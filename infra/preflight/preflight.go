// Package preflight checks an AWS account before a deployment, for problems that would make it fail or limit it:
//
//	for _, f := range preflight.Check(ctx, settings, preflight.Account{Calls: client, Bootstrap: "hnb659fds"}) {
//		fmt.Println(f)
//	}
//
// It changes nothing. A missing permission is a warning, since CloudFormation deploys with a separate role. docs/deploy.md
// lists the permissions that the checks need.
package preflight

import (
	"context"
	"encoding/xml"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/base/awscall"
)

// Level is the effect of a finding on the deployment.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // the deployment succeeds with limits, or the check was not possible
	Fail Level = "FAIL" // the deployment would fail
)

// Finding is the result of one check, with what to do about it.
type Finding struct {
	Level Level
	Text  string // one line
}

func (f Finding) String() string { return fmt.Sprintf("%-4s %s", f.Level, f.Text) }

// Account is the account of the deployment.
type Account struct {
	Calls *awscall.Client // with the deployment's Region and credentials
	// Bootstrap is the CDK's qualifier of make bootstrap; the CDK's default is hnb659fds.
	Bootstrap string
	// Import means that existing tables are imported (--import-existing-resources).
	Import bool
}

// checker has the settings, the account, and the findings so far.
type checker struct {
	*config.Config
	Account
	findings []Finding
	stack    string // status of the deployment's stack; "" for none, unknown if it can't be read
}

// Check returns the findings, in the order in which an operator should act on them. If AWS does not accept the
// credentials, that is the only finding.
func Check(ctx context.Context, c *config.Config, a Account) []Finding {
	l := &checker{Config: c, Account: a}
	if !l.identity(ctx) {
		return l.findings
	}
	l.email()
	l.bootstrap(ctx)
	l.deployed(ctx)
	l.tables(ctx)
	l.sourceMap(ctx)
	l.concurrency(ctx)
	l.streamShards(ctx)
	l.throughput(ctx)
	l.requests(ctx)
	return l.findings
}

func (l *checker) addFinding(level Level, format string, args ...any) {
	l.findings = append(l.findings, Finding{level, fmt.Sprintf(format, args...)})
}

// notChecked adds a warning that a check was not possible.
func (l *checker) notChecked(what string, err error) {
	if awscall.Denied(err) {
		l.addFinding(Warn, "%s: not checked, because these credentials may not read it (%s)", what, err)
		return
	}
	l.addFinding(Warn, "%s: not checked (%s)", what, err)
}

// identity reads the account of the credentials, and returns false if they are not accepted.
func (l *checker) identity(ctx context.Context) bool {
	var answer struct {
		XMLName xml.Name `xml:"GetCallerIdentityResponse"`
		Account string   `xml:"GetCallerIdentityResult>Account"`
		ARN     string   `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := l.Calls.Query(ctx, "sts:GetCallerIdentity", "2011-06-15", nil, &answer); err != nil {
		l.addFinding(Fail, "credentials: AWS does not accept them in Region %s: log in, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (%s)", l.Calls.Region, err)
		return false
	}
	l.addFinding(OK, "credentials: account %s, Region %s, as %s", answer.Account, l.Calls.Region, answer.ARN)
	return true
}

func (l *checker) email() {
	if l.Email == "" {
		l.addFinding(Warn, `alarms: no recipient is set: put {"email": "ops@example.com"} into infra/cdk.context.json, or subscribe to the alarms' topic yourself`)
		return
	}
	l.addFinding(OK, "alarms: sent to %s; the recipient must confirm the subscription", l.Email)
}

// Failed reports whether a deployment would fail.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Fail })
}
