package preflight

import (
	"context"
	"strings"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/awscall"
)

// goodConcurrency is what an account has that was raised once: the default of Lambda.
const goodConcurrency = 1000

// concurrency compares what functions are to have for themselves with what the account has. What
// they have already counts as free, since they would give it back.
func (l *look) concurrency(ctx context.Context) {
	const what = "Lambda's concurrency"
	var account struct {
		AccountLimit struct{ ConcurrentExecutions, UnreservedConcurrentExecutions int }
	}
	if err := l.Calls.Get(ctx, "lambda:GetAccountSettings", "/2016-08-19/account-settings/", &account); err != nil {
		l.unsure(what, err)
		return
	}
	limit, free, wanted := account.AccountLimit.ConcurrentExecutions, account.AccountLimit.UnreservedConcurrentExecutions, 0
	for function, n := range l.Reserved() {
		has, err := l.has(ctx, l.Prefix+function)
		if err != nil {
			l.unsure(what, err)
			return
		}
		wanted += n
		free += has
	}
	switch {
	case wanted > 0 && free-wanted < config.LeftUnreserved:
		l.say(Fail, "%s: the account has %d, of which %d are not reserved elsewhere; the settings reserve %d and %d must be left: "+
			"set hotkeysConcurrency=0 and aggregatorConcurrency=0 (and the others that you set), or ask for %d more of \"Concurrent executions\" in Service Quotas",
			what, limit, free, wanted, config.LeftUnreserved, wanted+config.LeftUnreserved-free)
	case limit < goodConcurrency:
		l.say(Warn, "%s: the account has %d, and callers are refused beyond: ask for %d of \"Concurrent executions\" in Service Quotas before you send traffic", what, limit, goodConcurrency)
	case limit != l.AccountConcurrency:
		l.say(Warn, "%s: the account has %d, and accountConcurrency is %d, of which an alarm tells when 80 %% are in use: set accountConcurrency=%d", what, limit, l.AccountConcurrency, limit)
	default:
		l.say(OK, "%s: %d, of which the settings reserve %d", what, limit, wanted)
	}
}

// has is what is reserved for a function now; 0 if it is not there.
func (l *look) has(ctx context.Context, function string) (int, error) {
	if l.stack == "" {
		return 0, nil
	}
	var answer struct{ ReservedConcurrentExecutions int }
	err := l.Calls.Get(ctx, "lambda:GetFunctionConcurrency", "/2019-09-30/functions/"+function+"/concurrency", &answer)
	if awscall.Code(err) == "ResourceNotFoundException" {
		return 0, nil
	}
	return answer.ReservedConcurrentExecutions, err
}

// Codes of quotas, from the pages of Service Quotas in the console.
const (
	tableReads  = "L-CF0CBE56" // dynamodb: "Table-level read throughput limit"
	tableWrites = "L-AB614373" // dynamodb: "Table-level write throughput limit"
	apiRate     = "L-8A5B8E43" // apigateway: "Throttle rate"
)

// quota asks for a quota that was set for the account, or else for AWS's default.
func (l *look) quota(ctx context.Context, service, code string) (float64, error) {
	var answer struct{ Quota struct{ Value float64 } }
	in := map[string]string{"ServiceCode": service, "QuotaCode": code}
	err := l.Calls.JSON(ctx, "servicequotas:GetServiceQuota", "ServiceQuotasV20190624", in, &answer)
	if awscall.Code(err) == "NoSuchResourceException" {
		err = l.Calls.JSON(ctx, "servicequotas:GetAWSDefaultServiceQuota", "ServiceQuotasV20190624", in, &answer)
	}
	return answer.Quota.Value, err
}

// throughput compares what the items table is to take with what a table may.
func (l *look) throughput(ctx context.Context) {
	if l.Attached() {
		return // it has no items table
	}
	for _, of := range []struct {
		kind, code string
		most, warm int
	}{{"Write", tableWrites, l.MaxWriteUnits, l.WarmWriteUnits}, {"Read", tableReads, l.MaxReadUnits, l.WarmReadUnits}} {
		what := "a table's " + strings.ToLower(of.kind) + "s"
		quota, err := l.quota(ctx, "dynamodb", of.code)
		switch {
		case err != nil:
			l.unsure(what, err)
		case float64(of.warm) > quota:
			l.say(Fail, "%s: warm%sUnits is %d, and the account's quota is %.0f a second: set less, or ask for more (quota %s of DynamoDB in Service Quotas)", what, of.kind, of.warm, quota, of.code)
		case float64(of.most) > quota:
			l.say(Warn, "%s: max%sUnits is %d, and the account's quota is %.0f a second, which binds before it (quota %s of DynamoDB in Service Quotas)", what, of.kind, of.most, quota, of.code)
		default:
			l.say(OK, "%s: a table takes up to %.0f units a second by the account's quota", what, quota)
		}
	}
}

// requests compares the API's rate with what all APIs of the account may have.
func (l *look) requests(ctx context.Context) {
	if l.Attached() {
		return // it has no API
	}
	const what = "the API's rate"
	quota, err := l.quota(ctx, "apigateway", apiRate)
	switch {
	case err != nil:
		l.unsure(what, err)
	case float64(l.APIRate) > quota:
		l.say(Warn, "%s: apiRate is %d, and all APIs of the account together have %.0f requests a second: ask for more (quota %s of API Gateway in Service Quotas)", what, l.APIRate, quota, apiRate)
	default:
		l.say(OK, "%s: %d requests a second, of %.0f that all APIs of the account have", what, l.APIRate, quota)
	}
}
