package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
)

// makeOutputs prints what an operator needs next.
func (d *deployment) makeOutputs() {
	if d.config.Attached() {
		d.output("SourceTable", "The table that is watched. A stream takes two readers of each shard, that of a global table one; this is one",
			jsii.String(d.config.SourceTable))
	} else {
		d.output("ApiUrl", "The API; requests are signed with AWS credentials (auth=iam) or bear a token (auth=jwt)", d.api.ApiEndpoint())
	}
	for _, t := range d.schema() {
		variable := d.config.TableVariable(t.Name)
		d.output(*id(t.Name[len(d.config.Prefix):], "table"), contents[variable], d.tables[variable].TableName())
	}
	d.output("FailureBucket", "Records that a function gave up", d.failures.BucketName())
	d.output("AlarmTopic", "Gets the alarms", d.topic.TopicArn())
	d.output("DashboardUrl", "Is a key hot, which, and what was done", jsii.String(
		"https://"+*d.stack.Region()+".console.aws.amazon.com/cloudwatch/home?region="+*d.stack.Region()+"#dashboards/dashboard/"+Name(d.config)))
}

// contents say what is in the tables.
var contents = map[string]string{
	grants.Items:    "Sharded items. Its stream has its two readers: no other trigger or pipe may read it",
	grants.Rollups:  "Summaries",
	grants.Heat:     "Counts of the detector's windows",
	grants.ShardMap: "Shard counts and their changes",
}

func (d *deployment) output(name, description string, value *string) {
	awscdk.NewCfnOutput(d.stack, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
}
