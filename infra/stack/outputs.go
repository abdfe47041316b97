package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/grants"
)

// newOutputs adds the stack's outputs for operators.
func newOutputs(s awscdk.Stack, c *config.Config, tables map[string]awsdynamodb.TableV2, failures awss3.Bucket, web *api, topic awssns.Topic) {
	output := func(name, description string, value *string) {
		awscdk.NewCfnOutput(s, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
	}
	if c.Attached() {
		output("SourceTable", "The table that is watched. A stream takes two readers of each shard, that of a global table one; this is one",
			jsii.String(c.SourceTable))
	} else {
		output("ApiUrl", "The API; requests are signed with AWS credentials (auth=iam) or bear a token (auth=jwt)", web.http.ApiEndpoint())
	}
	for _, t := range tablesOf(c) {
		variable := c.TableVariable(t.Name)
		output(*id(t.Name[len(c.Prefix):], "table"), contents[variable], tables[variable].TableName())
	}
	output("FailureBucket", "Records that a function gave up", failures.BucketName())
	output("AlarmTopic", "Gets the alarms", topic.TopicArn())
	output("DashboardUrl", "Is a key hot, which, and what was done", jsii.String(
		"https://"+*s.Region()+".console.aws.amazon.com/cloudwatch/home?region="+*s.Region()+"#dashboards/dashboard/"+Name(c)))
}

// contents has the descriptions of the tables.
var contents = map[string]string{
	grants.Items:    "Sharded items but events. Its stream has its two readers: no other trigger or pipe may read it",
	grants.Events:   "Events. Its stream has its two readers, too",
	grants.Rollups:  "Summaries",
	grants.Heat:     "Counts of the detector's windows",
	grants.ShardMap: "Shard counts and their changes",
}
