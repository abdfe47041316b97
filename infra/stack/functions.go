package stack

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
)

// memory is what a function gets, in MB. docs/deploy.md has the measurements behind the
// defaults.
func (d *deployment) memory(function string) int {
	return map[string]int{
		grants.Ingest: d.config.IngestMemory, grants.Query: d.config.QueryMemory,
		grants.Hotkeys: d.config.HotkeysMemory, grants.Aggregator: d.config.AggregatorMemory,
	}[function]
}

// environment is what a function reads, and how much of its memory Go's runtime may take: near
// 90 % it collects garbage more often, rather than being killed at 100 %.
func (d *deployment) environment(function string) map[string]*string {
	all := map[string]*string{"GOMEMLIMIT": jsii.String(fmt.Sprintf("%dMiB", d.memory(function)*9/10))}
	for variable, value := range d.config.Environment(function) {
		all[variable] = jsii.String(value)
	}
	return all
}

// Timeouts. The HTTP functions have the request's deadline and time to answer after
// it. The stream's functions mostly take milliseconds; the aggregator also runs the
// compaction, which takes up to three quarters of its time, 5 minutes at most.
const (
	answerTime        = 5 * time.Second
	hotkeysTimeout    = time.Minute
	aggregatorTimeout = 7 * time.Minute
)

func (d *deployment) timeout(function string) time.Duration {
	switch function {
	case grants.Ingest:
		return d.config.Ingest.Deadline + answerTime
	case grants.Query:
		return d.config.Query.Deadline + answerTime
	case grants.Hotkeys:
		return hotkeysTimeout
	}
	return aggregatorTimeout
}

func (d *deployment) concurrency(function string) int {
	return map[string]int{
		grants.Ingest: d.config.IngestConcurrency, grants.Query: d.config.QueryConcurrency,
		grants.Hotkeys: d.config.HotkeysConcurrency, grants.Aggregator: d.config.AggregatorConcurrency,
	}[function]
}

func (d *deployment) makeFunction(name string) {
	d.logs[name] = awslogs.NewLogGroup(d.stack, id(name, "logs"), &awslogs.LogGroupProps{
		LogGroupName:  jsii.String("/aws/lambda/" + d.config.Prefix + name),
		Retention:     awslogs.RetentionDays_INFINITE,
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	d.retain(d.logs[name])
	environment := d.environment(name)
	props := &awslambda.FunctionProps{
		FunctionName: d.name(name),
		Description:  jsii.String(descriptions[name]),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: awslambda.Architecture_ARM_64(),
		Handler:      jsii.String("bootstrap"),
		Code:         awslambda.Code_FromAsset(jsii.String(filepath.Join(d.dist, name)), nil),
		MemorySize:   number(d.memory(name)),
		Timeout:      seconds(d.timeout(name)),
		Environment:  &environment,
		// The role has its own policy, so that nothing is added to it here.
		Role:                         d.makeRole(name).WithoutPolicyUpdates(nil),
		Tracing:                      awslambda.Tracing_DISABLED,
		LoggingFormat:                awslambda.LoggingFormat_JSON,
		SystemLogLevelV2:             awslambda.SystemLogLevel_WARN, // Lambda's own lines for each call cost more than they say
		LogGroup:                     d.logs[name],
		ReservedConcurrentExecutions: units(d.concurrency(name)),
	}
	if d.config.Tracing {
		props.Tracing = awslambda.Tracing_ACTIVE
	}
	d.functions[name] = awslambda.NewFunction(d.stack, id(name), props)
	d.live[name] = d.makeAlias(name)
}

// makeAlias makes the function's alias, which is what the API, the stream and schedules call:
// the version that was deployed last, or in a rollout it and the one before.
func (d *deployment) makeAlias(name string) awslambda.Alias {
	props := &awslambda.AliasProps{AliasName: jsii.String("live"), Version: d.functions[name].CurrentVersion()}
	if _, reads := mapped[name]; reads { // and has schedules, of which the next run does what one failed to do
		props.RetryAttempts, props.MaxEventAge = jsii.Number(0), seconds(time.Minute)
	}
	return awslambda.NewAlias(d.stack, id(name, "live"), props)
}

var descriptions = map[string]string{
	grants.Ingest:     "Takes writes from the API",
	grants.Query:      "Answers reads from the API",
	grants.Hotkeys:    "Counts write units per key in the stream, reports hot keys, changes shard counts",
	grants.Aggregator: "Folds the stream into summaries",
}

// retain sets a log group's retention, a number that the L2 construct wants as one of
// its constants.
func (d *deployment) retain(group awslogs.LogGroup) {
	group.Node().DefaultChild().(awslogs.CfnLogGroup).SetRetentionInDays(number(d.config.LogRetention))
}

func seconds(t time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(t.Round(time.Second).Seconds()))
}
