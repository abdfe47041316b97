package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
)

// makeDashboard lays out the dashboard. Its first row answers: is a key hot, which,
// what was done.
func (d *deployment) makeDashboard() {
	rows := []*[]awscloudwatch.IWidget{
		row(d.alarmStatus(), graph("Which keys are hot: write units a second", d.byKey()), d.done()),
		row(d.hotLog(), graph("Detector: hottest key, write units a second", d.own("MaxKeyWriteUnitsPerSecond", maximum)),
			graph("Hot and saturated keys", d.hotCounts()...)),
		row(d.throttles(), graph("Stream: age of records, ms", d.each("IteratorAge", maximum)...), graph("Write units and records counted", d.own("WriteUnits", sum), d.own("Records", sum))),
		row(graph("Functions: errors", d.each("Errors", sum)...), graph("Functions: throttles", d.each("Throttles", sum)...), graph("Functions: duration p99, ms", d.each("Duration", p99)...)),
	}
	if !d.config.Attached() {
		rows = append(rows, row(graph("API: calls", d.ofAPI("Count", sum)), graph("API: 4xx, 5xx", d.ofAPI("4xx", sum), d.ofAPI("5xx", sum)),
			graph("API: latency p99, ms", d.ofAPI("Latency", p99))))
	}
	awscloudwatch.NewDashboard(d.stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(Name(d.config)), DefaultInterval: awscdk.Duration_Hours(jsii.Number(3)), Widgets: &rows,
	})
}

// hotCounts are numbers of keys. Which are saturated only writers of ours tell.
func (d *deployment) hotCounts() []awscloudwatch.IMetric {
	list := []awscloudwatch.IMetric{d.own("HotKeys", maximum)}
	if !d.config.Attached() {
		list = append(list, d.own("SaturatedKeys", maximum))
	}
	return list
}

func row(widgets ...awscloudwatch.IWidget) *[]awscloudwatch.IWidget { return &widgets }

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(title), Left: &metrics, Width: jsii.Number(8), Height: jsii.Number(6),
		LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0)}, LiveData: jsii.Bool(true),
	})
}

// each is a metric of all functions.
func (d *deployment) each(name, statistic string) (list []awscloudwatch.IMetric) {
	for _, f := range d.deployed() {
		if _, reads := mapped[f]; reads || name != "IteratorAge" {
			list = append(list, d.ofFunction(f, name, statistic))
		}
	}
	return list
}

// alarmStatus shows all alarms, those that went off first.
func (d *deployment) alarmStatus() awscloudwatch.IWidget {
	var list []interfacesawscloudwatch.IAlarmRef
	for _, a := range d.alarms {
		list = append(list, a)
	}
	return awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{
		Title: jsii.String("Is a key hot? All alarms"), Alarms: &list, Width: jsii.Number(8), Height: jsii.Number(6),
		SortBy: awscloudwatch.AlarmStatusWidgetSortBy_STATE_UPDATED_TIMESTAMP,
	})
}

// done lists changes of shard counts, as the functions log them; in a deployment
// that makes none, advice.
func (d *deployment) done() awscloudwatch.IWidget {
	if d.config.Attached() {
		return d.hotLog()
	}
	return d.logTable("What was done: changes of shard counts", []string{grants.Hotkeys, grants.Ingest},
		`filter msg in ["shard count changed", "grown", "shard count would change", "would grow"]`,
		"fields @timestamp, key, from, coalesce(to, shards) as shards_now, why, msg")
}

// hotLog lists hot keys with the detector's advice.
func (d *deployment) hotLog() awscloudwatch.IWidget {
	return d.logTable("Hot keys, and advice", []string{grants.Hotkeys}, `filter msg = "hot key"`,
		"fields @timestamp, key, index, writeUnitsPerSecond, error, peak, advice")
}

func (d *deployment) logTable(title string, functions []string, lines ...string) awscloudwatch.IWidget {
	var groups []*string
	for _, f := range functions {
		groups = append(groups, d.logs[f].LogGroupName())
	}
	lines = append(lines, "sort @timestamp desc", "limit 20")
	return awscloudwatch.NewLogQueryWidget(&awscloudwatch.LogQueryWidgetProps{
		Title: jsii.String(title), LogGroupNames: &groups, QueryLines: jsii.Strings(lines...),
		View: awscloudwatch.LogQueryVisualizationType_TABLE, Width: jsii.Number(8), Height: jsii.Number(6),
	})
}

// throttles shows who is refused by a partition, or by another transaction.
func (d *deployment) throttles() awscloudwatch.IWidget {
	var list []awscloudwatch.IMetric
	for _, w := range d.watched() {
		list = append(list, ofTable(w.table, w.index, "WriteKeyRangeThroughputThrottleEvents"), ofTable(w.table, w.index, "ReadKeyRangeThroughputThrottleEvents"))
	}
	if d.config.Attached() {
		return graph("Throttled by a partition's limit", list...)
	}
	return graph("Refused by a partition's limit, or by another transaction", append(list, d.conflicts())...)
}
