package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

// topics are where alarms notify: page for a person who must act now, tell for the next working day.
type topics struct{ page, tell awssns.Topic }

// newTopic makes a topic of the alarms. EnforceSSL replaces the default policy, which allows the account's alarms to
// publish; a statement allows that again. The topic is not encrypted with a KMS key: alarms need a customer managed one
// for a dollar a month, and their text has no secrets.
func newTopic(s awscdk.Stack, c *config.Config, name string) awssns.Topic {
	topic := awssns.NewTopic(s, id("alarms", name), &awssns.TopicProps{
		TopicName: jsii.String(c.Prefix + name), DisplayName: jsii.String(c.Prefix + name), EnforceSSL: jsii.Bool(true),
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

// cause is a composite alarm: its alarms notify together, once, since one outage sets off many of them. While a cause
// is on, its further alarms do not notify. So an alarm after which something must be repaired has no cause.
type cause struct {
	name string
	page bool   // notifies the topic page instead of tell
	text string // what happens
}

// Causes of alarms.
const (
	calls      = "calls"
	readStream = "stream"
	limits     = "limits"
	partitions = "partitions"
	upkeep     = "upkeep"
)

var causes = []cause{
	{calls, true, "Callers' requests fail, are slow, or find no container."},
	{readStream, true, "A function of the stream fails, lags or does not run. The stream loses records after a day."},
	{limits, true, "A limit of a table or of the account is reached. Requests are throttled until it is raised."},
	{partitions, false, "Partitions of a table are too hot, or transactions conflict. Growth and DynamoDB's splits usually end it within minutes."},
	{upkeep, false, "A task, the detector or a change of shard counts fails. Nothing is lost before the next working day."},
}

// newCauses makes the composite alarms of causes that have alarms.
func newCauses(s awscdk.Stack, c *config.Config, alarms []alarm, to topics) {
	for _, cause := range causes {
		var rules []awscloudwatch.IAlarmRule
		var names []string
		for _, a := range alarms {
			if a.cause == cause.name {
				rules = append(rules, awscloudwatch.AlarmRule_FromAlarm(a.construct, awscloudwatch.AlarmState_ALARM))
				names = append(names, a.name)
			}
		}
		if rules == nil {
			continue
		}
		made := awscloudwatch.NewCompositeAlarm(s, id(cause.name, "cause"), &awscloudwatch.CompositeAlarmProps{
			CompositeAlarmName: jsii.String(c.Prefix + cause.name),
			AlarmDescription:   jsii.Sprintf("%s One or more of: %s. Runbook: %s", cause.text, strings.Join(names, ", "), runbook),
			AlarmRule:          awscloudwatch.AlarmRule_AnyOf(rules...),
		})
		topic := to.tell
		if cause.page {
			topic = to.page
		}
		action := awscloudwatchactions.NewSnsAction(topic)
		made.AddAlarmAction(action)
		made.AddOkAction(action)
	}
}
