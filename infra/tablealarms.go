package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"

	"github.com/hotshard/hotshard/infra/config"
)

// watched is a table or an index whose throttles are watched.
type watched struct{ name, table, index string }

// watchedTables returns the deployment's tables and indexes, and the table that it is attached to.
func watchedTables(c *config.Config) (list []watched) {
	if c.Attached() {
		list = append(list, watched{source, c.SourceTable(), ""})
	}
	for _, t := range tablesOf(c) {
		name := t.Name[len(c.Prefix):]
		list = append(list, watched{name, t.Name, ""})
		for _, i := range t.Indexes {
			list = append(list, watched{name + "-" + strings.ReplaceAll(i.Name, "_", "-"), t.Name, i.Name})
		}
	}
	return list
}

// throttles returns the metrics of reads and writes that were throttled for these reasons.
func (w watched) throttles(reasons ...string) (list []awscloudwatch.Metric) {
	for _, reason := range reasons {
		list = append(list, tableMetric(w.table, w.index, "Write"+reason+"ThrottleEvents"), tableMetric(w.table, w.index, "Read"+reason+"ThrottleEvents"))
	}
	return list
}

// hotPartition is in the names of DynamoDB's metrics of a partition's limit.
const hotPartition = "KeyRangeThroughput"

// source names the table that a deployment is attached to.
const source = "source"

// hotPartitionAdvice returns the alarm's instructions for a hot partition.
func (w watched) hotPartitionAdvice() string {
	switch {
	case w.name == source:
		return "Its hot keys need write sharding: the log of hotkeys has the keys and advice."
	case w.name == "items", w.name == "events", w.index != "":
		return "A hot key should have more write shards by now: check hotshard console --stack."
	}
	return "The runbook has the settings that spread or lower the load."
}

// limitAdvice returns the alarm's instructions for a limit of the table or the account.
func (w watched) limitAdvice(attached bool) string {
	switch {
	case w.name == source:
		return "raise the table's own limits or the account's quota."
	case !attached && (w.name == "items" || w.name == "events" || w.name == "rollups" || w.index != ""):
		return "raise peakWrites, peakReads or the account's quota."
	}
	return "the table has no limit of its own, so raise the account's quota."
}

// tableAlarms returns the alarms on throttles. More write shards help against hot partitions, but not against limits of
// the table or the account, so these have separate alarms.
func tableAlarms(c *config.Config) (list []alarm) {
	for _, w := range watchedTables(c) {
		resource := "the table " + w.table
		if w.index != "" {
			resource = "the index " + w.index + " of " + w.table
		}
		list = append(list, alarm{
			name: w.name + "-hot-partition", section: "hot-partition", cause: partitions, threshold: 1, periods: 5, datapoints: 3,
			metric: filled("throttled by key range", w.throttles(hotPartition)...),
			text:   "A partition of " + resource + " was over its limit for three of five minutes. " + w.hotPartitionAdvice(),
		}, alarm{
			name: w.name + "-limit", section: "table-limit", cause: limits, threshold: 1, periods: 5, datapoints: 3,
			metric: filled("throttled by a limit", w.throttles("MaxOnDemandThroughput", "AccountLimit", "ProvisionedThroughput")...),
			text:   "A limit of " + resource + " or of the account was reached for three of five minutes. More write shards don't help: " + w.limitAdvice(c.Attached()),
		})
	}
	return list
}
