package stack

import (
	"cmp"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/grants"
)

// runbook is the page that alarms link to, with a section for each.
const runbook = "https://github.com/hotshard/hotshard/blob/main/docs/runbook.md"

// alarm is a CloudWatch alarm with instructions. Its period is the metric's.
type alarm struct {
	name    string // the alarm's name after the deployment's prefix
	section string // section of the runbook; "" for the name
	metric  awscloudwatch.IMetric
	from    float64 // threshold: goes off at this value or above
	periods int     // number of evaluated periods
	of      int     // number of these that must be at the threshold or above; 0 is all
	text    string  // what happened, and what to do first
	absent  bool    // goes off below the threshold, or without data
	series  bool    // has many series, and does not notify when one of them is OK again

	made awscloudwatch.Alarm // set by newAlarms
}

// newAlarms makes all alarms, with the topic as their action.
func newAlarms(s awscdk.Stack, c *config.Config, functions map[string]function, mappings map[string][]mapping, web *api, topic awssns.Topic) []alarm {
	hotkeys, aggregator := functions[grants.Hotkeys], functions[grants.Aggregator]
	list := slices.Concat(
		keyAlarms(c),
		streamAlarms(c, hotkeys, mappings[grants.Hotkeys]),
		detectorAlarms(s, c, hotkeys),
		functionAlarms(c, functions),
		tableAlarms(c),
		taskAlarms(s, c, functions),
	)
	if !c.Attached() {
		list = slices.Concat(list,
			streamAlarms(c, aggregator, mappings[grants.Aggregator]),
			fullAlarms(c),
			summaryAlarms(s, c, aggregator),
			shardAlarms(s, c, functions[grants.Ingest]),
			apiAlarms(c, web),
			accountAlarms(c),
		)
	}
	for i := range list {
		list[i].made = newAlarm(s, c, list[i], topic)
	}
	return list
}

func newAlarm(s awscdk.Stack, c *config.Config, a alarm, topic awssns.Topic) awscloudwatch.Alarm {
	compare, missing := awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, awscloudwatch.TreatMissingData_NOT_BREACHING
	if a.absent {
		compare, missing = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD, awscloudwatch.TreatMissingData_BREACHING
	}
	made := awscloudwatch.NewAlarm(s, id(a.name, "alarm"), &awscloudwatch.AlarmProps{
		AlarmName:          jsii.String(c.Prefix + a.name),
		AlarmDescription:   jsii.Sprintf("%s Runbook: %s#%s", a.text, runbook, cmp.Or(a.section, a.name)),
		Metric:             a.metric,
		Threshold:          jsii.Number(a.from),
		ComparisonOperator: compare,
		EvaluationPeriods:  jsii.Number(a.periods),
		DatapointsToAlarm:  jsii.Number(cmp.Or(a.of, a.periods)),
		TreatMissingData:   missing,
	})
	action := awscloudwatchactions.NewSnsAction(topic)
	made.AddAlarmAction(action)
	if !a.series {
		made.AddOkAction(action)
	}
	return made
}

// newTopic makes the topic of the alarms. EnforceSSL replaces the default policy, which allows the account's alarms to
// publish; a statement allows that again. The topic is not encrypted with a KMS key: alarms need a customer managed one
// for a dollar a month, and their text has no secrets.
func newTopic(s awscdk.Stack, c *config.Config) awssns.Topic {
	topic := awssns.NewTopic(s, jsii.String("Alarms"), &awssns.TopicProps{
		TopicName: jsii.String(c.Prefix + "alarms"), DisplayName: jsii.String(c.Prefix + "alarms"), EnforceSSL: jsii.Bool(true),
	})
	topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:    jsii.Strings("sns:Publish"),
		Resources:  &[]*string{topic.TopicArn()},
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": s.Account()}},
	}))
	if c.Email != "" {
		topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(c.Email), nil))
	}
	return topic
}
