package infra

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// newRole makes a role with these rights, for one service.
func newRole(s awscdk.Stack, id *string, description string, service awsiam.IPrincipal, rights []awsiam.PolicyStatement) awsiam.Role {
	return awsiam.NewRole(s, id, &awsiam.RoleProps{
		Description: jsii.String(description),
		AssumedBy:   service,
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"calls": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &rights}),
		},
	})
}

// roleRights returns the statements of a function's role: for its own calls, and for Lambda's calls on its behalf.
func roleRights(c *config.Config, f function, tables map[string]awsdynamodb.TableV2, sources streams) []awsiam.PolicyStatement {
	list := []awsiam.PolicyStatement{
		allow([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, f.logs.LogGroupArn()),
	}
	list = append(list, tableRights(c, f.name, tables, sources)...)
	if _, reads := streamFilters[f.name]; reads {
		list = append(list, streamRights(c, sources)...)
	}
	if slices.Contains(metricSenders, f.name) { // PutMetricData has a namespace and no resources
		list = append(list, allowIf("cloudwatch:namespace", hotkeys.Namespace, "cloudwatch:PutMetricData", jsii.String("*")))
	}
	return list
}

// tableRights returns a function's grants on the deployment's tables, and on the table that it is attached to. It omits
// grants on tables that an attached deployment does not have.
func tableRights(c *config.Config, function string, tables map[string]awsdynamodb.TableV2, sources streams) (list []awsiam.PolicyStatement) {
	arns := map[string]*string{}
	for variable, t := range tables {
		arns[variable] = t.TableArn()
	}
	if c.Attached() {
		arns[Source] = sources.list[0].tableARN
	}
	for _, g := range grantsOf[function] {
		arn, ok := arns[g.Table]
		if !ok {
			continue
		}
		if g.Index != "" {
			arn = jsii.String(*arn + "/index/" + g.Index)
		}
		var actions []string
		for _, a := range g.Actions {
			actions = append(actions, "dynamodb:"+a)
		}
		list = append(list, allow(actions, arn))
	}
	return list
}

// streamRights returns the rights that an event source mapping needs, from
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html
// and, for the failed records,
// https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html
// The hotkeys function also calls ListStreams and DescribeStream to count the stream shards. The SDK calls that service
// dynamodbstreams, and IAM dynamodb.
//
// A stream that is encrypted with a customer managed key is read through DynamoDB only, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
func streamRights(c *config.Config, sources streams) (list []awsiam.PolicyStatement) {
	for _, stream := range sources.list {
		list = append(list,
			allow([]string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}, stream.arn),
			// IAM has no single stream as the resource of ListStreams.
			allow([]string{"dynamodb:ListStreams"}, jsii.String(*stream.tableARN+"/stream/*")))
	}
	list = append(list,
		allow([]string{"s3:PutObject"}, sources.failures.ArnForObjects(jsii.String("*"))),
		allow([]string{"s3:ListBucket"}, sources.failures.BucketArn()))
	if key := c.SourceKeyARN; key != "" {
		region := strings.Split(key, ":")[3]
		list = append(list, allowIf("kms:ViaService", "dynamodb."+region+".amazonaws.com", "kms:Decrypt", &key))
	}
	return list
}

func allow(actions []string, resource *string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings(actions...), Resources: &[]*string{resource},
	})
}

// allowIf allows an action if a key of the request's context has a value.
func allowIf(key, value, action string, resource *string) awsiam.PolicyStatement {
	s := allow([]string{action}, resource)
	s.AddCondition(jsii.String("StringEquals"), map[string]string{key: value})
	return s
}
