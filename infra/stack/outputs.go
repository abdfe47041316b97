package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
)

// makeOutputs prints what an operator needs next.
func (d *deployment) makeOutputs() {
	if d.config.Attached() {
		d.output("SourceTable", "The table that is watched. A stream takes two readers of each shard; this is one",
			jsii.String(d.config.SourceTable))
	} else {
		d.output("ApiUrl", "The API; requests are signed with AWS credentials (auth=iam) or bear a token (auth=jwt)", d.api.ApiEndpoint())
		d.output("ItemsTable", "Sharded items", d.tables[grants.Items].TableName())
		d.output("RollupsTable", "Summaries", d.tables[grants.Rollups].TableName())
		d.output("ShardMapTable", "Shard counts and their changes", d.tables[grants.ShardMap].TableName())
	}
	d.output("HeatTable", "What the detector counted", d.tables[grants.Heat].TableName())
	d.output("FailureBucket", "Records that a function gave up", d.failures.BucketName())
	d.output("AlarmTopic", "Gets the alarms", d.topic.TopicArn())
	d.output("DashboardUrl", "Is a key hot, which, and what was done", jsii.String(
		"https://"+*d.stack.Region()+".console.aws.amazon.com/cloudwatch/home?region="+*d.stack.Region()+"#dashboards/dashboard/"+Name(d.config)))
}

func (d *deployment) output(name, description string, value *string) {
	awscdk.NewCfnOutput(d.stack, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
}
