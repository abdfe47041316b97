package preflight

import (
	"context"
	"strings"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// goodConcurrency is Lambda's default quota, which new accounts get on request.
const goodConcurrency = 1000

// concurrency compares the functions' reserved concurrency with the account's quota. What they reserve now counts as
// free.
func (l *checker) concurrency(ctx context.Context) {
	const what = "Lambda's concurrency"
	var account struct {
		AccountLimit struct{ ConcurrentExecutions, UnreservedConcurrentExecutions int }
	}
	if err := l.Calls.Get(ctx, "lambda:GetAccountSettings", "/2016-08-19/account-settings/", &account); err != nil {
		l.notChecked(what, err)
		return
	}
	limit, free, wanted := account.AccountLimit.ConcurrentExecutions, account.AccountLimit.UnreservedConcurrentExecutions, 0
	for function, n := range l.Reserved() {
		has, err := l.reservedFor(ctx, l.Prefix+function)
		if err != nil {
			l.notChecked(what, err)
			return
		}
		wanted += n
		free += has
	}
	switch {
	case wanted > 0 && free-wanted < config.LeftUnreserved:
		l.addFinding(Fail, "%s: the account has %d, of which %d are not reserved elsewhere; the settings reserve %d and %d must be left: "+
			"set hotkeysConcurrency=0 and aggregatorConcurrency=0 (and the others that you set), or request %d more of \"Concurrent executions\" in Service Quotas",
			what, limit, free, wanted, config.LeftUnreserved, wanted+config.LeftUnreserved-free)
	case limit < goodConcurrency:
		l.addFinding(Warn, "%s: the account has %d, and calls beyond that are throttled: request %d of \"Concurrent executions\" in Service Quotas before you send traffic", what, limit, goodConcurrency)
	case limit != l.AccountConcurrency:
		l.addFinding(Warn, "%s: the account has %d, and accountConcurrency is %d, whose alarm goes off at 80 %%: set accountConcurrency=%d", what, limit, l.AccountConcurrency, limit)
	default:
		l.addFinding(OK, "%s: %d, of which the settings reserve %d", what, limit, wanted)
	}
}

// reservedFor returns the concurrency that a function has reserved now; 0 if it does not exist.
func (l *checker) reservedFor(ctx context.Context, function string) (int, error) {
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
	tableReads    = "L-CF0CBE56" // dynamodb: "Table-level read throughput limit"
	tableWrites   = "L-AB614373" // dynamodb: "Table-level write throughput limit"
	accountReads  = "L-34F6A552" // dynamodb: "Account-level read throughput limit (Provisioned mode)"
	accountWrites = "L-34F8CCC8" // dynamodb: "Account-level write throughput limit (Provisioned mode)"
	apiRate       = "L-8A5B8E43" // apigateway: "Throttle rate"
)

// quota returns a quota of the account, or else AWS's default.
func (l *checker) quota(ctx context.Context, service, code string) (float64, error) {
	var answer struct{ Quota struct{ Value float64 } }
	in := map[string]string{"ServiceCode": service, "QuotaCode": code}
	err := l.Calls.JSON(ctx, "servicequotas:GetServiceQuota", "ServiceQuotasV20190624", in, &answer)
	if awscall.Code(err) == "NoSuchResourceException" {
		err = l.Calls.JSON(ctx, "servicequotas:GetAWSDefaultServiceQuota", "ServiceQuotasV20190624", in, &answer)
	}
	return answer.Quota.Value, err
}

// throughput compares the tables' throughput with the quotas of a table and, if it is provisioned, of the account.
func (l *checker) throughput(ctx context.Context) {
	if l.Attached() {
		return // an attached deployment has no items table
	}
	reads, writes := map[string]config.Units{}, map[string]config.Units{} // by the middle of their settings' names
	for of, table := range map[string]string{"": l.Names().Items, "Events": l.Names().Events, "Rollups": l.Names().Rollups} {
		reads[of], writes[of] = l.Config.Units(table)
	}
	reads["Index"], writes["Index"] = l.IndexUnits()
	l.unitsOf(ctx, "Read", tableReads, accountReads, reads)
	l.unitsOf(ctx, "Write", tableWrites, accountWrites, writes)
}

// unitsOf compares the read or write units of the tables and of each index with the quotas.
func (l *checker) unitsOf(ctx context.Context, kind, code, accountCode string, units map[string]config.Units) {
	what := "a table's " + strings.ToLower(kind) + "s"
	quota, err := l.quota(ctx, "dynamodb", code)
	if err != nil {
		l.notChecked(what, err)
		return
	}
	good := true
	least, most := 0, 0
	for of, u := range units {
		key, n := of+kind+"Units", 1
		if of == "Index" {
			n = len(schema.Tables(l.Names())[0].Indexes)
		}
		least, most = least+n*u.Min, most+n*u.Max
		switch {
		case float64(max(u.Warm, u.Min)) > quota:
			good = false
			l.addFinding(Fail, "%s: warm%s is %d and min%[2]s %[4]d, and the account's quota is %.0f a second: set less, or request more (quota %s of DynamoDB in Service Quotas)", what, key, u.Warm, u.Min, quota, code)
		case of != "Index" && float64(u.Max) > quota: // an index has its table's bound
			good = false
			l.addFinding(Warn, "%s: max%s is %d, and the account's quota is %.0f a second, which is reached first (quota %s of DynamoDB in Service Quotas)", what, key, u.Max, quota, code)
		}
	}
	if good {
		l.addFinding(OK, "%s: the account's quota allows a table up to %.0f units a second", what, quota)
	}
	if l.Billing == "provisioned" {
		l.provisioned(ctx, kind, accountCode, least, most)
	}
}

// provisioned compares the provisioned units of all tables and indexes with the account's quota. It does not include
// other tables of the account.
func (l *checker) provisioned(ctx context.Context, kind, code string, least, most int) {
	what := "provisioned " + strings.ToLower(kind) + "s"
	quota, err := l.quota(ctx, "dynamodb", code)
	switch {
	case err != nil:
		l.notChecked(what, err)
	case float64(least) > quota:
		l.addFinding(Fail, "%s: the settings min...%sUnits add up to %d, and the quota of all tables of the account is %.0f: set less, or request more (quota %s of DynamoDB in Service Quotas)", what, kind, least, quota, code)
	case float64(most) > quota:
		l.addFinding(Warn, "%s: the settings max...%sUnits add up to %d, and the quota of all tables of the account is %.0f, which is reached first (quota %s of DynamoDB in Service Quotas)", what, kind, most, quota, code)
	default:
		l.addFinding(OK, "%s: up to %d, and the quota of all tables of the account is %.0f", what, most, quota)
	}
}

// requests compares the API's rate with the quota of all APIs of the account.
func (l *checker) requests(ctx context.Context) {
	if l.Attached() {
		return // an attached deployment has no API
	}
	const what = "the API's rate"
	quota, err := l.quota(ctx, "apigateway", apiRate)
	switch {
	case err != nil:
		l.notChecked(what, err)
	case float64(l.APIRate) > quota:
		l.addFinding(Warn, "%s: apiRate is %d, and the quota of all APIs of the account is %.0f requests a second: request more (quota %s of API Gateway in Service Quotas)", what, l.APIRate, quota, apiRate)
	default:
		l.addFinding(OK, "%s: %d requests a second, and the quota of all APIs of the account is %.0f", what, l.APIRate, quota)
	}
}
