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
	maxContributors     = 50      // keys of a rule that are read
	partitionKeyRule    = "-PKT-" // is in the name of a rule for throttled partition keys
)

// readContributors adds the throttled keys that Contributor Insights lists, of the tables and indexes with throttles,
// or of all if no source counts throttles. It adds a note if it can't read them, or if Contributor Insights is off.
func (c *collection) readContributors(ctx context.Context) {
	if c.CloudWatch == nil {
		return
	}
	for _, r := range c.Resources {
		wasThrottled := slices.ContainsFunc(c.Counts, func(count Count) bool { return count.ID == r.ID })
		if c.Counted && !wasThrottled {
			continue
		}
		input := &dynamodb.DescribeContributorInsightsInput{TableName: aws.String(r.NameInCalls())}
		resource := "table " + r.Table
		if r.Index != "" {
			input.IndexName, resource = aws.String(r.Index), "index "+r.Index
		}
		out, err := c.DynamoDB.DescribeContributorInsights(ctx, input)
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

// readRule adds the throttled keys that a rule lists, with the number of throttles.
func (c *collection) readRule(ctx context.Context, id ID, rule string) error {
	from := c.From.Truncate(time.Minute)
	out, err := c.CloudWatch.GetInsightRuleReport(ctx, &cloudwatch.GetInsightRuleReportInput{
		RuleName: &rule, StartTime: &from, EndTime: &c.To, Period: aws.Int32(60), MaxContributorCount: aws.Int32(maxContributors), OrderBy: aws.String("Sum"),
	})
	if err != nil {
		return err
	}
	for _, contributor := range out.Contributors {
		if len(contributor.Keys) > 0 {
			c.Keys = append(c.Keys, Key{Reason: Reason{ID: id}, Key: contributor.Keys[0], Source: contributorInsights, Throttles: aws.ToFloat64(contributor.ApproximateAggregateValue)})
		}
	}
	return nil
}
