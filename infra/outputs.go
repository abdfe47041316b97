package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

// newOutputs adds the stack's outputs for operators.
func newOutputs(s awscdk.Stack, c *config.Config, tables map[string]awsdynamodb.TableV2, failures awss3.Bucket, web *api, to topics) {
	output := func(name, description string, value *string) {
		awscdk.NewCfnOutput(s, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
	}
	if c.Attached() {
		output("SourceTable", "The table that is watched. Its stream allows two readers of each shard (one, if it is a global table), of which this is one",
			jsii.String(c.SourceTable()))
	} else {
		output("ApiUrl", "The API; requests are signed with AWS credentials (auth=iam) or have a token (auth=jwt)", web.http.ApiEndpoint())
	}
	for _, t := range tablesOf(c) {
		variable := c.TableVariable(t.Name)
		output(*id(t.Name[len(c.Prefix):], "table"), contents[variable], tables[variable].TableName())
	}
	output("FailureBucket", "Records that a function discarded", failures.BucketName())
	output("PageTopic", "Topic of the alarms for which somebody must act now", to.page.TopicArn())
	output("TellTopic", "Topic of the alarms that can wait for the next working day", to.tell.TopicArn())
}

// contents has the descriptions of the tables.
var contents = map[string]string{
	Items:    "Sharded items except events. Its stream has two readers already: no other trigger or pipe may read it",
	Events:   "Events. Its stream has two readers already, too",
	Rollups:  "Summaries",
	Heat:     "Counts of the detector's windows",
	ShardMap: "Shard counts and their changes",
}
