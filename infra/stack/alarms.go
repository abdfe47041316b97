package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/hotkey"
)

// alarm is what is watched, and what to do when it goes off. All are of minutes.
type alarm struct {
	name    string // also of the alarm, behind the deployment's prefix
	section string // of the runbook
	metric  awscloudwatch.IMetric
	from    float64 // goes off at this value or above
	minutes int     // of the last minutes
	of      int     // these many; 0 is all
	text    string  // what happened, and what to do first
}

// makeAlarms makes all alarms, each with the topic for its action.
func (d *deployment) makeAlarms() {
	list := append(d.keyAlarms(), d.streamAlarms(grants.Hotkeys)...)
	list = append(list, d.detectorAlarms()...)
	list = append(list, d.functionAlarms()...)
	list = append(list, d.tableAlarms()...)
	if !d.config.Attached() {
		list = append(list, d.streamAlarms(grants.Aggregator)...)
		list = append(list, d.summaryAlarms()...)
		list = append(list, d.shardAlarms()...)
		list = append(list, d.apiAlarms()...)
	}
	for _, a := range list {
		d.makeAlarm(a)
	}
}

func (d *deployment) makeAlarm(a alarm) {
	of := a.of
	if of == 0 {
		of = a.minutes
	}
	made := awscloudwatch.NewAlarm(d.stack, id(a.name, "alarm"), &awscloudwatch.AlarmProps{
		AlarmName:          d.name(a.name),
		AlarmDescription:   jsii.String(fmt.Sprintf("%s Runbook: %s#%s", a.text, d.config.Runbook, a.section)),
		Metric:             a.metric,
		Threshold:          jsii.Number(a.from),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		EvaluationPeriods:  number(a.minutes),
		DatapointsToAlarm:  number(of),
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	action := awscloudwatchactions.NewSnsAction(d.topic)
	made.AddAlarmAction(action)
	made.AddOkAction(action)
	d.alarms = append(d.alarms, made)
}

// hotRate is from how many write units a second on a key is hot.
func (d *deployment) hotRate() float64 {
	return d.config.Hotkeys.Threshold * float64(d.config.Hotkeys.PartitionWCU)
}

// keyAlarms are about keys. That of hot keys has a series for each key, so that it
// names them as its contributors; without metrics by key it can only count them.
func (d *deployment) keyAlarms() []alarm {
	hot := alarm{
		"hot-keys", "hot-keys", d.byKey(), d.hotRate(), 1, 0,
		"A partition key takes more writes than its share of a partition. The alarm's contributors are the keys. " +
			"See on the dashboard whether its shard count grew; ask GET /v1/hot-keys for advice.",
	}
	if d.config.Hotkeys.MetricKeys == 0 || d.config.Hotkeys.MetricNames == hotkey.Unnamed {
		hot.metric, hot.from = d.own("HotKeys", maximum), 1
		hot.text = "A partition key takes more writes than its share of a partition. Metrics by key are off: " +
			"its name is in the log of hotkeys and at GET /v1/hot-keys."
	}
	return []alarm{hot, {
		"saturated-keys", "saturated-keys", d.own("SaturatedKeys", maximum), 1, 2, 0,
		"Writes to a key were refused by a partition's limit for two minutes, so growth did not keep up. " +
			"See GET /v1/hot-keys for the key; pin a higher shard count with PUT /v1/shards.",
	}}
}

// streamAlarms are about a function's reading of the stream.
func (d *deployment) streamAlarms(function string) []alarm {
	return []alarm{{
		function + "-behind", "behind", d.ofFunction(function, "IteratorAge", maximum),
		float64(d.config.MaxIteratorAge.Milliseconds()), 5, 3,
		"The function " + function + " is behind the stream, which keeps records for a day. Look for errors and throttles " +
			"of the function first; a stream that outgrew it needs a larger batchSize.",
	}, {
		function + "-gave-up", "gave-up", total("records given up",
			d.ofMapping(function, "OnFailureDestinationDeliveredEventCount"), d.ofMapping(function, "DroppedEventCount")), 1, 1, 0,
		"The function " + function + " failed on records until they were given up. They are in the failure bucket. " +
			"Find the cause in its log, then replay or rebuild.",
	}}
}

// detectorAlarms are about what the detector could not count.
func (d *deployment) detectorAlarms() []alarm {
	return []alarm{{
		"detector-state", "detector-state", d.own("WindowStatesDropped", sum), 1, 1, 0,
		"A window's state could not be read and counting began anew in the middle of a window: its hot keys may be missing. " +
			"Expected once when a release changes its form.",
	}, {
		"detector-errors", "detector-errors", total("faults", d.own("RecordsUnreadable", sum), d.own("HeatItemFailures", sum)), 1, 5, 3,
		"The detector could not read records, and left them out, or could not store what it counted, for minutes. Its log names the record or the error.",
	}}
}

// functionAlarms are about Lambda's invocations.
func (d *deployment) functionAlarms() (list []alarm) {
	for _, f := range d.deployed() {
		list = append(list, alarm{
			f + "-errors", "function-errors", d.ofFunction(f, "Errors", sum), 1, 5, 3,
			"Invocations of " + f + " fail. Its log has the reason; a stream's function repeats a batch until it succeeds or is given up.",
		}, alarm{
			f + "-throttles", "function-throttles", d.ofFunction(f, "Throttles", sum), 1, 5, 3,
			"Lambda refuses invocations of " + f + ": the account's concurrency, or what is reserved for the function, is used up.",
		})
	}
	return list
}

// summaryAlarms are about records that the aggregator put aside.
func (d *deployment) summaryAlarms() []alarm {
	d.count(grants.Aggregator, "SummariesToReplay", "not folded: targets must be computed anew", "$.targets")
	return []alarm{{
		"summaries-to-replay", "summaries-to-replay", d.logged("SummariesToReplay"), 1, 1, 0,
		"Records could not be folded and were put aside, so summaries lack them. Run hotshard replay once the cause is mended.",
	}}
}

// shardAlarms are about changes of shard counts.
func (d *deployment) shardAlarms() []alarm {
	d.count(grants.Ingest, "ShardCountsGrownByIngest", "grown", "1")
	return []alarm{{
		"shard-changes", "shard-changes", d.changes(), float64(d.config.MaxShardChanges) / 5, 5, 0,
		fmt.Sprintf("Shard counts change at a rate of %d in five minutes or more. See which keys on the dashboard; "+
			"control=observe stops changes.", d.config.MaxShardChanges),
	}, {
		"shard-change-failures", "shard-changes", d.own("ShardCountChangeFailures", sum), 1, 5, 3,
		"Changes of shard counts fail. The log of hotkeys has the reason; hot keys stay hot until they succeed.",
	}}
}

// changes counts changes of shard counts by everybody.
func (d *deployment) changes() awscloudwatch.IMetric {
	return total("changes of shard counts", d.own("ShardCountChanges", sum), d.logged("ShardCountsGrownByIngest"))
}

func (d *deployment) apiAlarms() []alarm {
	failed := awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("IF(calls >= 20, 100 * FILL(failed, 0) / calls, 0)"), Period: minute(), Label: jsii.String("% of calls failed"),
		UsingMetrics: &map[string]awscloudwatch.IMetric{"failed": d.ofAPI("5xx", sum), "calls": d.ofAPI("Count", sum)},
	})
	return []alarm{{
		"api-errors", "api-errors", failed, 1, 5, 3,
		"One in a hundred calls of the API, or more, is answered 5xx. 503 is DynamoDB out of reach or a shard map that can't be read; the logs have the rest.",
	}, {
		"api-slow", "api-slow", d.ofAPI("Latency", p99), float64(d.config.MaxLatency.Milliseconds()), 5, 3,
		"The slowest of a hundred calls takes too long. Mostly that is ingest retrying throttled writes: see whether a key is hot.",
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
