package stack

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/metrics"
)

// makeRole makes a function's role: what its code calls, and what Lambda does in its
// name.
func (d *deployment) makeRole(function string) awsiam.Role {
	statements := []awsiam.PolicyStatement{
		allow([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, d.logs[function].LogGroupArn()),
	}
	if d.config.Tracing { // X-Ray has no resources that these could be bound to
		statements = append(statements, allow([]string{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, jsii.String("*")))
	}
	statements = append(statements, d.tableStatements(function)...)
	if _, reads := mapped[function]; reads {
		statements = append(statements, d.streamStatements()...)
	}
	if slices.Contains(grants.Metrics, function) {
		statements = append(statements, metricsStatement())
	}
	return awsiam.NewRole(d.stack, id(function, "role"), &awsiam.RoleProps{
		Description: jsii.String("Of the function " + *d.name(function)),
		AssumedBy:   awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"calls": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &statements}),
		},
	})
}

func (d *deployment) tableStatements(function string) (list []awsiam.PolicyStatement) {
	for _, g := range grants.Of(function) {
		arn, ok := d.granted(g.Table)
		if !ok {
			continue
		}
		if g.Index != "" {
			arn += "/index/" + g.Index
		}
		var actions []string
		for _, a := range g.Actions {
			actions = append(actions, "dynamodb:"+a)
		}
		list = append(list, allow(actions, &arn))
	}
	return list
}

// granted returns a table's ARN. An attached deployment has fewer tables, and one that
// others do not have; its settings keep off the rest.
func (d *deployment) granted(table string) (arn string, ok bool) {
	if table == grants.Source {
		return *d.sourceARN(), d.config.Attached()
	}
	own, ok := d.tables[table]
	if !ok {
		return "", false
	}
	return *own.TableArn(), true
}

// metricsStatement allows metrics. PutMetricData has no resources, but a namespace.
func metricsStatement() awsiam.PolicyStatement {
	s := allow([]string{"cloudwatch:PutMetricData"}, jsii.String("*"))
	s.AddCondition(jsii.String("StringEquals"), map[string]string{"cloudwatch:namespace": metrics.Namespace})
	return s
}

// streamStatements are what an event source mapping does in the function's name, from
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html
// and, for the failed records,
// https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html
// DescribeStream is called by the functions of grants.Streams, too.
func (d *deployment) streamStatements() []awsiam.PolicyStatement {
	list := []awsiam.PolicyStatement{
		allow([]string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}, d.streamARN()),
		// It asks for a table's streams, not for one.
		allow([]string{"dynamodb:ListStreams"}, jsii.String(*d.sourceARN()+"/stream/*")),
		allow([]string{"s3:PutObject"}, d.failures.ArnForObjects(jsii.String("*"))),
		allow([]string{"s3:ListBucket"}, d.failures.BucketArn()),
	}
	if d.config.SourceKeyARN != "" {
		list = append(list, d.keyStatement())
	}
	return list
}

// keyStatement allows reading a stream that is encrypted with a customer managed key,
// through DynamoDB and not otherwise, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
func (d *deployment) keyStatement() awsiam.PolicyStatement {
	region := strings.Split(d.config.SourceKeyARN, ":")[3]
	s := allow([]string{"kms:Decrypt"}, jsii.String(d.config.SourceKeyARN))
	s.AddCondition(jsii.String("StringEquals"), map[string]string{"kms:ViaService": "dynamodb." + region + ".amazonaws.com"})
	return s
}

func allow(actions []string, resource *string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings(actions...), Resources: &[]*string{resource},
	})
}
