package explain

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamo "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const (
	contributorInsights = "Contributor Insights"
	maxContributors     = 50
	// minRising is the number of sort keys that it takes to call them rising.
	minRising = 4
)

// The kinds of Contributor Insights' rules for throttled keys, as their names have them.
const (
	partitionKeyRule = "-PKT-"
	sortKeyRule      = "-SKT-"
)

// readContributors adds the throttled keys that Contributor Insights lists.
func (c *collection) readContributors(ctx context.Context) {
	if c.CloudWatch == nil {
		return
	}
	for _, r := range c.Resources {
		if c.Counted && !slices.ContainsFunc(c.Counts, func(n Count) bool { return n.ID == r.ID }) {
			continue
		}
		in := &dynamodb.DescribeContributorInsightsInput{TableName: aws.String(r.Call())}
		of := "table " + r.Table
		if r.Index != "" {
			in.IndexName, of = aws.String(r.Index), "index "+r.Index
		}
		out, err := c.DynamoDB.DescribeContributorInsights(ctx, in)
		if fault, ok := errors.AsType[smithy.APIError](err); ok && fault.ErrorCode() == "UnknownOperationException" {
			return // an engine has no Contributor Insights
		}
		if err != nil {
			c.noteError(err, "Whether Contributor Insights lists throttled keys is unknown", "dynamodb:DescribeContributorInsights")
			return
		}
		if out.ContributorInsightsStatus != dynamo.ContributorInsightsStatusEnabled {
			c.addNote("Contributor Insights is off for %s. It lists throttled keys, for about 0.50 USD a month a rule and 0.03 USD a million throttled requests in throttled-keys mode.", of)
			continue
		}
		for _, rule := range out.ContributorInsightsRuleList {
			if strings.Contains(rule, partitionKeyRule) || strings.Contains(rule, sortKeyRule) {
				if err := c.readRule(ctx, r.ID, rule); err != nil {
					c.noteError(err, "Throttled keys are unknown", "cloudwatch:GetInsightRuleReport")
					return
				}
			}
		}
	}
}

// readRule adds the keys of one rule. A rule for sort keys completes the partition keys of the other rule.
func (c *collection) readRule(ctx context.Context, id ID, rule string) error {
	from := c.From.Truncate(time.Minute)
	out, err := c.CloudWatch.GetInsightRuleReport(ctx, &cloudwatch.GetInsightRuleReportInput{
		RuleName: &rule, StartTime: &from, EndTime: &c.To, Period: aws.Int32(60), MaxContributorCount: aws.Int32(maxContributors), OrderBy: aws.String("Sum"),
	})
	if err != nil {
		return err
	}
	key := func(name string) *Key {
		at := slices.IndexFunc(c.Keys, func(k Key) bool { return k.ID == id && k.Key == name && k.Source == contributorInsights })
		if at < 0 {
			at = len(c.Keys)
			c.Keys = append(c.Keys, Key{Reason: Reason{ID: id}, Key: name, Source: contributorInsights})
		}
		return &c.Keys[at]
	}
	bySort := map[string][]types.InsightRuleContributor{}
	for _, x := range out.Contributors {
		switch {
		case len(x.Keys) == 0:
		case strings.Contains(rule, partitionKeyRule):
			key(x.Keys[0]).Throttles += aws.ToFloat64(x.ApproximateAggregateValue)
		case len(x.Keys) > 1:
			bySort[x.Keys[0]] = append(bySort[x.Keys[0]], x)
		}
	}
	for name, items := range bySort {
		k, sum := key(name), 0.0
		for _, x := range items {
			sum += aws.ToFloat64(x.ApproximateAggregateValue)
		}
		k.Throttles = max(k.Throttles, sum)
		k.Rising = throttledInOrder(items)
		if len(items) == 1 {
			k.SortKey = items[0].Keys[1]
		}
	}
	return nil
}

// throttledInOrder reports whether greater sort keys were first throttled later.
func throttledInOrder(items []types.InsightRuleContributor) bool {
	items = slices.DeleteFunc(slices.Clone(items), func(x types.InsightRuleContributor) bool { return len(x.Datapoints) == 0 })
	if len(items) < minRising {
		return false
	}
	first := func(x types.InsightRuleContributor) time.Time {
		return aws.ToTime(slices.MinFunc(x.Datapoints, func(a, b types.InsightRuleContributorDatapoint) int {
			return aws.ToTime(a.Timestamp).Compare(aws.ToTime(b.Timestamp))
		}).Timestamp)
	}
	slices.SortFunc(items, func(a, b types.InsightRuleContributor) int {
		return cmp.Or(first(a).Compare(first(b)), strings.Compare(a.Keys[1], b.Keys[1]))
	})
	return first(items[0]).Before(first(items[len(items)-1])) &&
		slices.IsSortedFunc(items, func(a, b types.InsightRuleContributor) int { return strings.Compare(a.Keys[1], b.Keys[1]) })
}
