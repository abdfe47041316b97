package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"
)

// makeTopic makes the topic that alarms go to. A policy that demands TLS takes the
// place of the default one, which let the account's alarms in; hence the statement.
// It is not encrypted with a key of KMS's, whose price is a dollar a month: alarms
// may publish only under a key of the customer's, and their text has no secrets.
func (d *deployment) makeTopic() {
	d.topic = awssns.NewTopic(d.stack, jsii.String("Alarms"), &awssns.TopicProps{
		TopicName: d.name("alarms"), DisplayName: d.name("alarms"), EnforceSSL: jsii.Bool(true),
	})
	d.topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:    jsii.Strings("sns:Publish"),
		Resources:  &[]*string{d.topic.TopicArn()},
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": d.stack.Account()}},
	}))
	if d.config.Email != "" {
		d.topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(d.config.Email), nil))
	}
}
