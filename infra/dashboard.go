package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

// newDashboard makes the dashboard. Its first row shows hot keys and changes of shard counts.
func newDashboard(s awscdk.Stack, c *config.Config, functions map[string]function, web *api, alarms []alarm) {
	each := func(of []string, name, statistic string) (list []awscloudwatch.IMetric) {
		for _, f := range of {
			list = append(list, ofFunction(functions[f], name, statistic))
		}
		return list
	}
	var hot []awscloudwatch.IMetric
	for _, table := range c.Sources() {
		hot = append(hot, byKey(table))
	}
	all := deployedFunctions(c)
	rows := []*[]awscloudwatch.IWidget{
		row(alarmStatus(alarms), graph("Hot keys: WCU/s", hot...), changesLog(c, functions)),
		row(hotLog(functions), graph("Detector: hottest key, WCU/s", lines(detectorMetrics(c, maximum, "MaxKeyWriteUnitsPerSecond"))...),
			graph("Hot and saturated keys", hotCounts(c)...)),
		row(throttles(c), graph("Stream: age of records, ms", each(readers(c), "IteratorAge", maximum)...), graph("Write units and records counted", lines(detectorMetrics(c, sum, "WriteUnits", "Records"))...)),
		row(graph("Functions: errors", each(all, "Errors", sum)...), graph("Functions: throttles", each(all, "Throttles", sum)...), graph("Functions: duration p99, ms", each(all, "Duration", p99)...)),
	}
	if !c.Attached() {
		rows = append(rows, row(graph("API: calls", ofAPI(web, "Count", sum)), graph("API: 4xx, 5xx", ofAPI(web, "4xx", sum), ofAPI(web, "5xx", sum)),
			graph("API: latency p99, ms", ofAPI(web, "Latency", p99))))
	}
	awscloudwatch.NewDashboard(s, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(stackName(c)), DefaultInterval: awscdk.Duration_Hours(jsii.Number(3)), Widgets: &rows,
	})
}

// hotCounts returns the numbers of hot keys. Only the detector of hotshard's own tables knows which are saturated.
func hotCounts(c *config.Config) []awscloudwatch.IMetric {
	names := []string{"HotKeys"}
	if !c.Attached() {
		names = append(names, "SaturatedKeys")
	}
	return lines(detectorMetrics(c, maximum, names...))
}

func row(widgets ...awscloudwatch.IWidget) *[]awscloudwatch.IWidget { return &widgets }

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(title), Left: &metrics, Width: jsii.Number(8), Height: jsii.Number(6),
		LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0)}, LiveData: jsii.Bool(true),
	})
}

// alarmStatus shows all alarms, active ones first.
func alarmStatus(alarms []alarm) awscloudwatch.IWidget {
	var list []interfacesawscloudwatch.IAlarmRef
	for _, a := range alarms {
		list = append(list, a.made)
	}
	return awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{
		Title: jsii.String("Is a key hot? All alarms"), Alarms: &list, Width: jsii.Number(8), Height: jsii.Number(6),
		SortBy: awscloudwatch.AlarmStatusWidgetSortBy_STATE_UPDATED_TIMESTAMP,
	})
}

// changesLog lists changes of shard counts from the functions' logs, or advice if the deployment makes no changes.
func changesLog(c *config.Config, functions map[string]function) awscloudwatch.IWidget {
	if c.Attached() {
		return hotLog(functions)
	}
	return logTable("Changes of shard counts", []function{functions[Hotkeys], functions[Ingest]},
		`filter msg in ["shard count changed", "grown", "shard count would change", "would grow"]`,
		"fields @timestamp, key, from, coalesce(to, shards) as shards_now, why, msg")
}

func hotLog(functions map[string]function) awscloudwatch.IWidget {
	return logTable("Hot keys, and advice", []function{functions[Hotkeys]}, `filter msg = "hot key"`,
		"fields @timestamp, key, index, writeUnitsPerSecond, error, peak, advice")
}

// logTable shows the newest log lines of some functions.
func logTable(title string, functions []function, lines ...string) awscloudwatch.IWidget {
	var groups []*string
	for _, f := range functions {
		groups = append(groups, f.logs.LogGroupName())
	}
	lines = append(lines, "sort @timestamp desc", "limit 20")
	return awscloudwatch.NewLogQueryWidget(&awscloudwatch.LogQueryWidgetProps{
		Title: jsii.String(title), LogGroupNames: &groups, QueryLines: jsii.Strings(lines...),
		View: awscloudwatch.LogQueryVisualizationType_TABLE, Width: jsii.Number(8), Height: jsii.Number(6),
	})
}

// throttles shows throttled writes, and writes that failed because of a transaction conflict.
func throttles(c *config.Config) awscloudwatch.IWidget {
	var list []awscloudwatch.IMetric
	for _, w := range watchedOf(c) {
		for _, m := range w.throttles(hotPartition) {
			list = append(list, m)
		}
	}
	if c.Attached() {
		return graph("Throttled by a partition's limit", list...)
	}
	return graph("Throttled by a partition's limit, or in conflict with a transaction", append(list, lines(conflicts(c))...)...)
}
