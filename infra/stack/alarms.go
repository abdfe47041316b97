package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
)

// alarm is what is watched, and what to do when it goes off. A period is the metric's.
type alarm struct {
	name    string // also of the alarm, behind the deployment's prefix
	section string // of the runbook
	metric  awscloudwatch.IMetric
	from    float64 // goes off at this value or above
	periods int     // of the last periods
	of      int     // these many; 0 is all
	text    string  // what happened, and what to do first
	absent  bool    // goes off below from instead, and where there are no data
	series  bool    // has many series, of which each would tell that it is over
}

// makeAlarms makes all alarms, each with the topic for its action.
func (d *deployment) makeAlarms() {
	list := append(d.keyAlarms(), d.streamAlarms(grants.Hotkeys)...)
	list = append(list, d.detectorAlarms()...)
	list = append(list, d.functionAlarms()...)
	list = append(list, d.tableAlarms()...)
	list = append(list, d.taskAlarms()...)
	if !d.config.Attached() {
		list = append(list, d.streamAlarms(grants.Aggregator)...)
		list = append(list, d.summaryAlarms()...)
		list = append(list, d.shardAlarms()...)
		list = append(list, d.apiAlarms()...)
		list = append(list, d.accountAlarm())
	}
	for _, a := range list {
		d.makeAlarm(a)
	}
}

func (d *deployment) makeAlarm(a alarm) {
	of := a.of
	if of == 0 {
		of = a.periods
	}
	compare, missing := awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, awscloudwatch.TreatMissingData_NOT_BREACHING
	if a.absent {
		compare, missing = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD, awscloudwatch.TreatMissingData_BREACHING
	}
	made := awscloudwatch.NewAlarm(d.stack, id(a.name, "alarm"), &awscloudwatch.AlarmProps{
		AlarmName:          d.name(a.name),
		AlarmDescription:   jsii.String(fmt.Sprintf("%s Runbook: %s#%s", a.text, d.config.Runbook, a.section)),
		Metric:             a.metric,
		Threshold:          jsii.Number(a.from),
		ComparisonOperator: compare,
		EvaluationPeriods:  number(a.periods),
		DatapointsToAlarm:  number(of),
		TreatMissingData:   missing,
	})
	action := awscloudwatchactions.NewSnsAction(d.topic)
	made.AddAlarmAction(action)
	if !a.series {
		made.AddOkAction(action)
	}
	d.alarms = append(d.alarms, made)
}

// functionAlarms are about Lambda's invocations.
func (d *deployment) functionAlarms() (list []alarm) {
	for _, f := range d.deployed() {
		list = append(list, alarm{
			name: f + "-errors", section: "function-errors", metric: d.ofFunction(f, "Errors", sum), from: 1, periods: 5, of: 3,
			text: "Invocations of " + f + " fail. Its log has the reason; a stream's function repeats a batch until it succeeds or is given up.",
		}, alarm{
			name: f + "-throttles", section: "function-throttles", metric: d.ofFunction(f, "Throttles", sum), from: 1, periods: 5, of: 3,
			text: "Lambda refuses invocations of " + f + ": the account's concurrency, or what is reserved for the function, is used up.",
		})
	}
	return list
}

// usedUp is the part of the account's concurrency from which on it is nearly used up.
const usedUp = 0.8

// accountAlarm is about all functions of the account, whose quota they share. What is
// reserved counts as used; the metric has no dimensions:
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-concurrency.html
func (d *deployment) accountAlarm() alarm {
	return alarm{
		name: "account-concurrency", section: "account-concurrency", metric: metric("AWS/Lambda", "ClaimedAccountConcurrency", maximum, nil),
		from: usedUp * float64(d.config.AccountConcurrency), periods: 5, of: 3,
		text: fmt.Sprintf("Lambda runs %.0f %% or more of what the account may run at a time (%d, as accountConcurrency says). "+
			"Beyond it calls of the API are refused. Ask for a higher quota, or find out which function needs so many.", 100*usedUp, d.config.AccountConcurrency),
	}
}

// conflictsPerMinute are five a second. A keyed call is a transaction, which has its items for
// some milliseconds.
const conflictsPerMinute = 300

// conflicts are writes of the items table that another transaction refused.
func (d *deployment) conflicts() awscloudwatch.Metric {
	return ofTable(d.config.Names().Items, "", "TransactionConflict")
}

// shardAlarms are about changes of shard counts.
func (d *deployment) shardAlarms() []alarm {
	d.count(grants.Ingest, "ShardCountsGrownByIngest", "grown", "1")
	d.count(grants.Ingest, "PartitionsAreTheLimit", "more write shards do not help: the table's partitions are the limit", "1")
	changes := total("changes of shard counts", 5, d.own("ShardCountChanges", sum), d.logged("ShardCountsGrownByIngest"))
	return []alarm{{
		name: "shard-changes", section: "shard-changes", metric: changes, from: float64(d.config.MaxShardChanges), periods: 1,
		text: fmt.Sprintf("Shard counts changed %d times in five minutes, or more. See which keys on the dashboard; "+
			"control=observe stops changes.", d.config.MaxShardChanges),
	}, {
		name: "shard-change-failures", section: "shard-changes", metric: d.own("ShardCountChangeFailures", sum), from: 1, periods: 5, of: 3,
		text: "Changes of shard counts fail. The log of hotkeys has the reason; hot keys stay hot until they succeed.",
	}, {
		name: "partitions-are-the-limit", section: "partitions-are-the-limit", metric: d.logged("PartitionsAreTheLimit"), from: 1, periods: 5, of: 3,
		text: "A key with as many write shards as can help is refused: the table has too few partitions. " +
			"DynamoDB splits them within minutes; warmWriteUnits prepares for it.",
	}, {
		name: "conflicts", section: "conflicts", metric: filled("conflicts", d.conflicts()), from: conflictsPerMinute, periods: 5, of: 3,
		text: fmt.Sprintf("Transactions on the table met each other %d times a minute, or more, for three of five minutes. "+
			"Counters and limits get more write shards by that; one player, session or idempotency key that many write does not.", conflictsPerMinute),
	}}
}

func (d *deployment) apiAlarms() []alarm {
	failed := awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("IF(calls >= 20, 100 * FILL(failed, 0) / calls, 0)"), Period: minute(), Label: jsii.String("% of calls failed"),
		UsingMetrics: &map[string]awscloudwatch.IMetric{"failed": d.ofAPI("5xx", sum), "calls": d.ofAPI("Count", sum)},
	})
	return []alarm{{
		name: "api-errors", section: "api-errors", metric: failed, from: 1, periods: 5, of: 3,
		text: "One in a hundred calls of the API, or more, is answered 5xx. 503 is DynamoDB out of reach or a shard map that can't be read; the logs have the rest.",
	}, {
		name: "api-slow", section: "api-slow", metric: d.ofAPI("Latency", p99), from: float64(d.config.MaxLatency.Milliseconds()), periods: 5, of: 3,
		text: "The slowest of a hundred calls takes too long. Mostly that is ingest retrying throttled writes: see whether a key is hot.",
	}}
}

// count makes a metric of a function's log lines with a message.
func (d *deployment) count(function, name, message, value string) {
	awslogs.NewMetricFilter(d.stack, id(name), &awslogs.MetricFilterProps{
		LogGroup: d.logs[function], MetricNamespace: jsii.String(d.logNamespace()), MetricName: jsii.String(name),
		MetricValue:   jsii.String(value),
		FilterPattern: awslogs.FilterPattern_StringValue(jsii.String("$.msg"), jsii.String("="), jsii.String(message)),
	})
}
