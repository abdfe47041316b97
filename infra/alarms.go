package infra

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

// runbook is the page that alarms link to, with a section for each.
const runbook = "https://github.com/hotshard/hotshard/blob/main/docs/runbook.md"

// alarm is a CloudWatch alarm with instructions. Its period is the metric's.
type alarm struct {
	name       string // the alarm's name after the deployment's prefix
	section    string // section of the runbook; "" for the name
	metric     awscloudwatch.IMetric
	threshold  float64 // goes off at this value or above
	periods    int     // number of evaluated periods
	datapoints int     // number of periods that must be at the threshold or above; 0 is all
	text       string  // what happened, and what to do first
	absent     bool    // goes off below the threshold, or without data
	series     bool    // has many series, and does not notify when a series is OK again
	cause      string  // the composite alarm that notifies; "" if it notifies by itself

	construct awscloudwatch.Alarm // set by newAlarms
}

// newAlarms makes all alarms, and the composite alarms of their causes.
func newAlarms(s awscdk.Stack, c *config.Config, functions map[string]function, mappings map[string][]readerMapping, web *api, to topics) {
	list := keyAlarms(c)
	for _, name := range readers(c) {
		list = append(list, streamAlarms(c, functions[name], mappings[name])...)
	}
	list = slices.Concat(list,
		detectorAlarms(s, c, functions[Hotkeys]),
		functionAlarms(c, functions),
		tableAlarms(c),
		taskAlarms(s, c, functions),
	)
	if !c.Attached() {
		folds := functions[Aggregator].name
		list = slices.Concat(list,
			fullAlarms(c),
			summaryAlarms(s, c, functions[Aggregator]),
			[]alarm{silentAlarm(c, folds, mappings[folds])},
			shardAlarms(s, c, functions[Ingest]),
			apiAlarms(c, web),
			accountAlarms(c),
		)
	}
	for i := range list {
		list[i].construct = newAlarm(s, c, list[i], to)
	}
	newCauses(s, c, list, to)
}

// warmUp is how long an alarm on missing data waits for the first data: a mapping starts to poll within minutes, and
// the slowest task runs every hour.
const warmUp = time.Hour

// newAlarm makes an alarm. If it has no cause, it notifies the topic tell.
func newAlarm(s awscdk.Stack, c *config.Config, a alarm, to topics) awscloudwatch.Alarm {
	compare, missing := awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, awscloudwatch.TreatMissingData_NOT_BREACHING
	if a.absent {
		compare, missing = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD, awscloudwatch.TreatMissingData_BREACHING
	}
	made := awscloudwatch.NewAlarm(s, id(a.name, "alarm"), &awscloudwatch.AlarmProps{
		AlarmName:          jsii.String(c.Prefix + a.name),
		AlarmDescription:   jsii.Sprintf("%s Runbook: %s#%s", a.text, runbook, cmp.Or(a.section, a.name)),
		Metric:             a.metric,
		Threshold:          jsii.Number(a.threshold),
		ComparisonOperator: compare,
		EvaluationPeriods:  jsii.Number(a.periods),
		DatapointsToAlarm:  jsii.Number(cmp.Or(a.datapoints, a.periods)),
		TreatMissingData:   missing,
	})
	if a.absent {
		made.Node().DefaultChild().(awscloudwatch.CfnAlarm).SetWarmUpConfiguration(
			&awscloudwatch.CfnAlarm_WarmUpConfigurationProperty{WarmUpPeriodDurationInMinutes: jsii.Number(warmUp.Minutes())})
	}
	if a.cause != "" {
		return made
	}
	action := awscloudwatchactions.NewSnsAction(to.tell)
	made.AddAlarmAction(action)
	if !a.series {
		made.AddOkAction(action)
	}
	return made
}
