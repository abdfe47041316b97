package infra

import (
	"path/filepath"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

// function is a deployed function.
type function struct {
	name   string // without the deployment's prefix
	lambda awslambda.Function
	live   awslambda.Alias // the alias that callers invoke
	logs   awslogs.LogGroup
}

// Timeouts. The HTTP functions have the request's deadline, and answerTime to respond after it. The stream's functions
// usually take milliseconds. The aggregator's compaction takes up to 5 minutes.
const (
	answerTime        = 5 * time.Second
	hotkeysTimeout    = time.Minute
	aggregatorTimeout = 7 * time.Minute
)

// Memory in MB, which also sets the share of a CPU: 1,769 MB has a whole CPU, which the aggregator's decoding and
// folding use. From https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
const (
	memory   = 1024
	wholeCPU = 1769
)

// logDays is how long logs are kept: as long as discarded records, so that their reasons can be found.
const logDays = keptDays

// traits are the properties in which functions differ, besides code and permissions.
type traits struct {
	description string
	memory      int // in MB
	timeout     time.Duration
}

func traitsOf(function string) traits {
	return map[string]traits{
		Ingest:     {"Takes writes from the API", memory, ingest.Deadline + answerTime},
		Query:      {"Answers reads from the API", memory, query.Deadline + answerTime},
		Hotkeys:    {"Counts write units per key in the stream, reports hot keys, changes shard counts", memory, hotkeysTimeout},
		Aggregator: {"Folds the stream into summaries", wholeCPU, aggregatorTimeout},
		Reader:     {"Does the work of hotkeys and of aggregator as the stream's one reader", wholeCPU, aggregatorTimeout},
	}[function]
}

// newFunctions makes the deployment's functions, by name. The map has the reader under its name and those of the two
// functions that it replaces. dist is the folder of the built functions. Roles refer to the tables and the streams.
func newFunctions(s awscdk.Stack, c *config.Config, dist string, tables map[string]awsdynamodb.TableV2, sources streams) map[string]function {
	made := map[string]function{}
	for _, name := range deployedFunctions(c) {
		f := function{name: name, logs: newLogs(s, id(name, "logs"), "/aws/lambda/"+c.Prefix+name)}
		role := newRole(s, id(name, "role"), "Of the function "+c.Prefix+name, awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
			roleRights(c, f, tables, sources))
		f.lambda = newLambda(s, c, f, filepath.Join(dist, name), role)
		f.live = newAlias(s, f)
		made[name] = f
	}
	if c.OneReader() {
		made[Hotkeys], made[Aggregator] = made[Reader], made[Reader]
	}
	return made
}

func newLambda(s awscdk.Stack, c *config.Config, f function, code string, role awsiam.Role) awslambda.Function {
	traits := traitsOf(f.name)
	// Near 90 % of the memory Go collects garbage more often, so that Lambda does not kill the function at 100 %.
	environment := map[string]*string{"GOMEMLIMIT": jsii.Sprintf("%dMiB", traits.memory*9/10)}
	for variable, value := range c.Environment(f.name) {
		environment[variable] = jsii.String(value)
	}
	return awslambda.NewFunction(s, id(f.name), &awslambda.FunctionProps{
		FunctionName: jsii.String(c.Prefix + f.name),
		Description:  jsii.String(traits.description),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: awslambda.Architecture_ARM_64(),
		Handler:      jsii.String("bootstrap"),
		Code:         awslambda.Code_FromAsset(jsii.String(code), nil),
		MemorySize:   jsii.Number(traits.memory),
		Timeout:      seconds(traits.timeout),
		Environment:  &environment,
		// The role has its own policy; the CDK must not add to it.
		Role:                         role.WithoutPolicyUpdates(nil),
		LoggingFormat:                awslambda.LoggingFormat_JSON,
		SystemLogLevelV2:             awslambda.SystemLogLevel_WARN, // saves the cost of Lambda's three lines for each call
		LogGroup:                     f.logs,
		ReservedConcurrentExecutions: nilIfZero(c.Reserved()[f.name]),
		// An update keeps the previous versions, so that the alias can be moved back at once.
		CurrentVersionOptions: &awslambda.VersionOptions{RemovalPolicy: awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE},
	})
}

// newAlias makes the alias that the API, the stream and schedules invoke. It routes to the newest version, or to the
// newest two during a rollout.
func newAlias(s awscdk.Stack, f function) awslambda.Alias {
	props := &awslambda.AliasProps{AliasName: jsii.String("live"), Version: f.lambda.CurrentVersion()}
	if _, reads := streamFilters[f.name]; reads { // no retries: a schedule's next run does the work of a failed one
		props.RetryAttempts, props.MaxEventAge = jsii.Number(0), seconds(time.Minute)
	}
	return awslambda.NewAlias(s, id(f.name, "live"), props)
}

// newLogs makes a log group. The construct needs the retention as one of its constants.
func newLogs(s awscdk.Stack, id *string, name string) awslogs.LogGroup {
	group := awslogs.NewLogGroup(s, id, &awslogs.LogGroupProps{LogGroupName: jsii.String(name), RemovalPolicy: awscdk.RemovalPolicy_DESTROY})
	group.Node().DefaultChild().(awslogs.CfnLogGroup).SetRetentionInDays(jsii.Number(logDays))
	return group
}

func seconds(t time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(t.Round(time.Second).Seconds()))
}
