// Package stack is hotshard as a CloudFormation stack: tables, functions, API, event
// source mappings, schedules, alarms and a dashboard.
//
//	c, err := config.Parse(context)
//	stack.New(app, c, "../dist") // dist/<function>/bootstrap, as make functions builds them
//
// What a table is comes from internal/schema, the API's routes from the functions'
// own, their environment from their settings, their roles from package grants.
package stack

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/grants"
)

// deployment is the stack while it is built.
type deployment struct {
	stack  awscdk.Stack
	config *config.Config
	dist   string

	tables    map[string]awsdynamodb.TableV2 // by the variable that names it
	failures  awss3.Bucket
	functions map[string]awslambda.Function
	live      map[string]awslambda.Alias // of the functions: what is called
	logs      map[string]awslogs.LogGroup
	mappings  map[string]awslambda.CfnEventSourceMapping
	api       awsapigatewayv2.HttpApi
	stage     awsapigatewayv2.HttpStage
	topic     awssns.Topic
	alarms    []awscloudwatch.Alarm
}

// Name is the name of a configuration's stack.
func Name(c *config.Config) string { return strings.TrimSuffix(c.Prefix, "-") }

// New adds the stack to an app. Dist is the folder of the built functions.
func New(scope constructs.Construct, c *config.Config, dist string) awscdk.Stack {
	d := &deployment{
		stack: awscdk.NewStack(scope, jsii.String(Name(c)), &awscdk.StackProps{
			StackName: jsii.String(Name(c)),
			Tags:      tags(c.Tags), TerminationProtection: jsii.Bool(c.TerminationProtection),
			Description: jsii.String("hotshard keeps DynamoDB tables ahead of their hot keys."),
		}),
		config: c, dist: dist,
		tables: map[string]awsdynamodb.TableV2{}, functions: map[string]awslambda.Function{}, live: map[string]awslambda.Alias{},
		logs: map[string]awslogs.LogGroup{}, mappings: map[string]awslambda.CfnEventSourceMapping{},
	}
	if c.Email == "" {
		awscdk.Annotations_Of(d.stack).AddWarningV2(jsii.String("hotshard:nobody-gets-alarms"), jsii.String("nobody gets the alarms: set email, or subscribe to the topic by other means"))
	}
	d.makeTables()
	d.makeFailures()
	for _, f := range d.deployed() {
		d.makeFunction(f)
	}
	d.makeMapping(grants.Hotkeys)
	if !c.Attached() {
		d.makeMapping(grants.Aggregator)
		d.makeAPI()
	}
	d.makeSchedules()
	d.makeTopic()
	d.makeAlarms()
	d.makeRollouts()
	d.makeDashboard()
	d.makeOutputs()
	return d.stack
}

func tags(list []string) *map[string]*string {
	all := map[string]*string{}
	for _, t := range list {
		key, value, _ := strings.Cut(t, "=")
		all[key] = &value
	}
	return &all
}

// deployed are the functions that the deployment has.
func (d *deployment) deployed() []string {
	if d.config.Attached() {
		return []string{grants.Hotkeys}
	}
	return grants.Functions
}

// name puts the deployment's prefix before a name.
func (d *deployment) name(what string) *string { return jsii.String(d.config.Prefix + what) }

// id makes a construct's id of a name: shard-map becomes ShardMap.
func id(names ...string) *string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(strings.Join(names, "-"), func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return jsii.String(b.String())
}

func number(n int) *float64 { return jsii.Number(float64(n)) }
