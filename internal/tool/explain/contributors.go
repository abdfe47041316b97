package explain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamo "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const (
	contributorInsights = "Contributor Insights"
	maxContributors     = 50
)

// partitionKeyRule is in the names of Contributor Insights' rules for throttled partition keys.
const partitionKeyRule = "-PKT-"

// readContributors adds the throttled keys that Contributor Insights lists.
func (c *collection) readContributors(ctx context.Context) {
	if c.CloudWatch == nil {
		return
	}
	for _, r := range c.Resources {
		if c.Counted && !slices.ContainsFunc(c.Counts, func(n Count) bool { return n.ID == r.ID }) {
			continue
		}
		in := &dynamodb.DescribeContributorInsightsInput{TableName: aws.String(r.NameInCalls())}
		resource := "table " + r.Table
		if r.Index != "" {
			in.IndexName, resource = aws.String(r.Index), "index "+r.Index
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
			c.addNote("Contributor Insights is off for %s. It lists throttled keys, for about 0.50 USD a month a rule and 0.03 USD a million throttled requests in throttled-keys mode.", resource)
			continue
		}
		for _, rule := range out.ContributorInsightsRuleList {
			if strings.Contains(rule, partitionKeyRule) {
				if err := c.readRule(ctx, r.ID, rule); err != nil {
					c.noteError(err, "Throttled keys are unknown", "cloudwatch:GetInsightRuleReport")
					return
				}
			}
		}
	}
}

// readRule adds the keys of one rule.
func (c *collection) readRule(ctx context.Context, id ID, rule string) error {
	from := c.From.Truncate(time.Minute)
	out, err := c.CloudWatch.GetInsightRuleReport(ctx, &cloudwatch.GetInsightRuleReportInput{
		RuleName: &rule, StartTime: &from, EndTime: &c.To, Period: aws.Int32(60), MaxContributorCount: aws.Int32(maxContributors), OrderBy: aws.String("Sum"),
	})
	if err != nil {
		return err
	}
	for _, x := range out.Contributors {
		if len(x.Keys) > 0 {
			c.Keys = append(c.Keys, Key{Reason: Reason{ID: id}, Key: x.Keys[0], Source: contributorInsights, Throttles: aws.ToFloat64(x.ApproximateAggregateValue)})
		}
	}
	return nil
}
