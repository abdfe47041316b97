// Package preflight looks at an AWS account before a deployment: would it fail, or disappoint?
//
//	for _, f := range preflight.Look(ctx, settings, preflight.Account{Calls: client, Bootstrap: "hnb659fds"}) {
//		fmt.Println(f)
//	}
//
// It changes nothing. What it is not allowed to ask is a warning, since CloudFormation, which
// deploys with a role of its own, may be. docs/deploy.md lists the permissions that it wants.
package preflight

import (
	"context"
	"encoding/xml"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/awscall"
)

// Level says what a finding means for the deployment.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it can be deployed, and may disappoint; or nothing could be found out
	Fail Level = "FAIL" // a deployment would fail
)

// Finding is what one look found, with what to do about it.
type Finding struct {
	Level Level
	Text  string // a line
}

func (f Finding) String() string { return fmt.Sprintf("%-4s %s", f.Level, f.Text) }

// Account is where the deployment goes.
type Account struct {
	Calls *awscall.Client // with the Region and the credentials of the deployment
	// Bootstrap is the CDK's qualifier of what make bootstrap made; the CDK's default is
	// hnb659fds.
	Bootstrap string
	// Import says that tables that are there are to be taken over
	// (--import-existing-resources).
	Import bool
}

// look is under way: the settings, the account, and what was found so far.
type look struct {
	*config.Config
	Account
	findings []Finding
	stack    string // status of the deployment's stack; "" for none, unknown if nobody may say
}

// Look returns what it finds, in the order in which an operator can act on it. If the
// credentials are not accepted, that is all.
func Look(ctx context.Context, c *config.Config, a Account) []Finding {
	l := &look{Config: c, Account: a}
	if !l.identity(ctx) {
		return l.findings
	}
	l.email()
	l.bootstrap(ctx)
	l.deployed(ctx)
	l.tables(ctx)
	l.concurrency(ctx)
	l.throughput(ctx)
	l.requests(ctx)
	return l.findings
}

func (l *look) say(level Level, format string, args ...any) {
	l.findings = append(l.findings, Finding{level, fmt.Sprintf(format, args...)})
}

// unsure notes that something could not be found out. Nothing is known to be wrong then.
func (l *look) unsure(what string, err error) {
	if awscall.Denied(err) {
		l.say(Warn, "%s: not looked at, since these credentials may not ask (%s)", what, err)
		return
	}
	l.say(Warn, "%s: not looked at (%s)", what, err)
}

// identity asks who the credentials are; false if nobody.
func (l *look) identity(ctx context.Context) bool {
	var answer struct {
		XMLName xml.Name `xml:"GetCallerIdentityResponse"`
		Account string   `xml:"GetCallerIdentityResult>Account"`
		ARN     string   `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := l.Calls.Query(ctx, "sts:GetCallerIdentity", "2011-06-15", nil, &answer); err != nil {
		l.say(Fail, "credentials: AWS does not take them for Region %s: log in, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (%s)", l.Calls.Region, err)
		return false
	}
	l.say(OK, "credentials: account %s, Region %s, as %s", answer.Account, l.Calls.Region, answer.ARN)
	return true
}

func (l *look) email() {
	if l.Email == "" {
		l.say(Warn, `alarms: email is not set, so nobody is told of them: put {"email": "ops@example.com"} into infra/cdk.context.json, or subscribe to the alarms' topic yourself`)
		return
	}
	l.say(OK, "alarms: they go to %s, who must confirm it once", l.Email)
}

// Failed tells whether a deployment would fail.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Fail })
}
