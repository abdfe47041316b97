package infra

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/plan"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// keyAlarms returns the alarms on keys. A table's alarm on hot keys has a series for each key, notifies for each, and
// lists them as contributors. Without metrics by key, one alarm counts hot keys. Attached, none is on saturated keys.
func keyAlarms(c *config.Config) []alarm {
	next := "GET /v1/hot-keys says whether its shard count grew, and has advice."
	where := " and at GET /v1/hot-keys"
	if c.Attached() {
		next = "Advice is in the log of hotkeys."
		where = ""
	}
	var hot []alarm
	for _, table := range c.Sources() {
		hot = append(hot, alarm{
			name: "hot-keys", periods: 1, series: true,
			metric: byKey(table), threshold: c.Hotkeys.Threshold * float64(c.Hotkeys.PartitionWCU), // lowest WCU/s of a hot key
			text: "A partition key of the table " + table + " takes more writes than its share of a partition. The alarm's contributors are the keys. " + next,
		})
		if table == c.Names().Events {
			hot[len(hot)-1].name, hot[len(hot)-1].section = "events-hot-keys", "hot-keys"
		}
	}
	if c.Hotkeys.MetricNames == display.Unnamed {
		hot = []alarm{{
			name: "hot-keys", metric: detectorTotal(c, maximum, "HotKeys"), threshold: 1, periods: 1,
			text: "A partition key takes more writes than its share of a partition. Metrics by key are off: " +
				"its name is in the log of hotkeys" + where + ".",
		}}
	}
	if c.Attached() {
		return hot
	}
	return append(hot, alarm{
		name: "saturated-keys", cause: partitions, metric: detectorTotal(c, maximum, "SaturatedKeys"), threshold: 1, periods: 2,
		text: "A key was at a partition's limit for two minutes, so writes may be throttled: growth did not keep up. " +
			"GET /v1/hot-keys names the key; pin a higher shard count with PUT /v1/shards.",
	})
}

// detectorAlarms returns the alarms on records that the detector could not count, and windows that it could not report.
func detectorAlarms(s awscdk.Stack, c *config.Config, hotkeys function) []alarm {
	return []alarm{{
		name: "detector-state", cause: upkeep, metric: detectorTotal(c, sum, "WindowStatesDropped"), threshold: 1, periods: 1,
		text: "A window's state could not be read, and counting started again in the middle of the window: its hot keys may be missing. " +
			"Expected once when a release changes the state's form.",
	}, {
		name: "detector-errors", cause: upkeep, periods: 5, datapoints: 3, threshold: 1,
		metric: detectorTotal(c, sum, "RecordsUnreadable", "HeatItemFailures"),
		text:   "For minutes the detector could not read records, which it omits, or could not store its counts. Its log names the record or the error.",
	}, {
		name: "detector-windows", cause: upkeep, periods: 5, datapoints: 3, threshold: 1,
		metric: detectorTotal(c, sum, "UncertainWindows", "WindowsTerminatedEarly"),
		text:   "The detector's windows have more keys than it counts, so that a hot key may go unnamed, or Lambda ended them early. A larger topK counts more keys; a shorter window has fewer.",
	}, {
		name: "metrics-not-sent", cause: upkeep, metric: logMetric(s, c, hotkeys, "MetricsNotSent", "metrics not sent", "1"), threshold: 1, periods: 5, datapoints: 3,
		text: "For minutes hotkeys could not send its metrics, so alarms on them can't go off. Its log has the error.",
	}}
}

// longestLag is the age of stream records at which a function is behind. It is far below the hour after which records
// for hotkeys are discarded.
const longestLag = 2 * time.Minute

// streamAlarms returns the alarms on a function's event source mappings.
func streamAlarms(c *config.Config, f function, mappings []readerMapping) []alarm {
	lost := "Counts of those windows are missing, and nothing can repair them."
	if f.name != Hotkeys {
		lost = "Then run " + check(c, "--all", "--repair") + "."
	}
	var discarded []awscloudwatch.Metric
	for _, m := range mappings {
		discarded = append(discarded, mappingMetric(m.construct, "OnFailureDestinationDeliveredEventCount", sum), mappingMetric(m.construct, "DroppedEventCount", sum))
	}
	list := []alarm{{
		name: f.name + "-behind", section: "behind", cause: readStream, metric: functionMetric(f, "IteratorAge", maximum),
		threshold: float64(longestLag.Milliseconds()), periods: 5, datapoints: 3,
		text: "The function " + f.name + " is behind the stream, which keeps records for a day. First check for errors and throttles " +
			"of the function.",
	}, {
		name: f.name + "-gave-up", section: "gave-up", threshold: 1, periods: 1,
		metric: total("discarded records", 1, discarded...),
		text: "The function " + f.name + " failed on records until they were discarded. They are in the failure bucket. " +
			"Find the cause in its log, and repair it. " + lost,
	}}
	for _, m := range mappings {
		// A polling mapping reports 0 without records. A mapping that is disabled or lacks permissions reports nothing:
		// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
		list = append(list, alarm{
			name: m.name + "-not-polling", section: "not-polling", cause: readStream, metric: withPeriod(5, mappingMetric(m.construct, "PolledEventCount", samples)),
			threshold: 1, periods: 6, absent: true,
			text: "The event source mapping " + m.name + " has not polled in half an hour: it is disabled, deleted, or not allowed to read the stream. " +
				"Check its state; a stream keeps records for a day.",
		})
	}
	return list
}

// fullAlarms returns the alarms on the number of open stream shards. One compares it with the setting streamShards, one
// with the readers' concurrency: at a window's end each stream shard needs a run of each reader.
func fullAlarms(c *config.Config) []alarm {
	open := total("open stream shards", 15, detectorMetrics(c, maximum, "StreamShards")...)
	return []alarm{{
		name: "more-stream-shards", section: "stream-shards", metric: open, threshold: float64(2*c.StreamShards + 1), periods: 1,
		text: fmt.Sprintf("There are more than twice as many open stream shards as streamShards (%d) expects. "+
			"Folds, heat and runs cost more than they must until you deploy with the number that hotshard plan prints.", c.StreamShards),
	}, {
		name: "stream-shards", metric: open,
		threshold: plan.FullShare * float64(c.StreamConcurrency()), periods: 1,
		text: fmt.Sprintf("The number of open stream shards is %.0f %% or more of the concurrency of hotkeys or aggregator (%d). "+
			"Raise streamShards, and the account's quota with accountConcurrency, before summaries lag.", 100*plan.FullShare, c.StreamConcurrency()),
	}}
}

// leastWrites is a number of write units in 15 minutes. It is so high that some must be of changed items: a put that
// changes nothing causes no stream record.
const leastWrites = 1000

// silentAlarm returns the alarm on an aggregator that gets no events while the events table has writes. Rollups then
// stay empty without an error, since the mapping's filter or the stream differs from the template. The items table's
// mapping has no such alarm, because its filter discards most writes.
func silentAlarm(c *config.Config, reader string, mappings []readerMapping) alarm {
	using := map[string]awscloudwatch.IMetric{"writes": withPeriod(15, tableMetric(c.Names().Events, "", "ConsumedWriteCapacityUnits"))}
	for _, m := range mappings {
		if strings.HasSuffix(m.name, "-"+schema.EventsTable) {
			using["invoked"] = withPeriod(15, mappingMetric(m.construct, "InvokedEventCount", sum))
		}
	}
	return alarm{
		name: reader + "-gets-nothing", section: "not-polling", cause: readStream, threshold: 1, periods: 3, datapoints: 2,
		metric: awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression: jsii.Sprintf("IF(FILL(writes, 0) >= %d AND FILL(invoked, 0) < 1, 1, 0)", leastWrites),
			Period:     awscdk.Duration_Minutes(jsii.Number(15)), Label: jsii.String("writes, and no events"), UsingMetrics: &using,
		}),
		text: "The events table takes writes, and the aggregator gets none of them, so rollups stay empty. " +
			"Check the state and the filter of its event source mapping.",
	}
}

// summaryAlarms returns the alarms on records that the aggregator could not fold.
func summaryAlarms(s awscdk.Stack, c *config.Config, aggregator function) []alarm {
	return []alarm{{
		name: "summaries-to-repair", threshold: 1, periods: 1,
		metric: logMetric(s, c, aggregator, "SummariesToRepair", "not folded: targets must be recomputed", "$.targets"),
		text:   "Records could not be folded and were set aside, so summaries lack them. Run " + check(c, "--failed", "--repair") + " after the cause is repaired.",
	}}
}

// check returns the command line that checks the deployment's summaries.
func check(c *config.Config, flags ...string) string {
	if c.Prefix != "hotshard-" { // the command's default
		flags = append(flags, "--prefix", c.Prefix)
	}
	return display.Commands{}.Line("check", flags...)
}

// conflictsPerMinute is the alarm's threshold, five a second. A keyed call's transaction locks items for milliseconds.
const conflictsPerMinute = 300

// manyChanges is the number of changed shard counts in five minutes whose cause an operator should know.
const manyChanges = 50

func shardAlarms(s awscdk.Stack, c *config.Config, ingest function) []alarm {
	grown := logMetric(s, c, ingest, "ShardCountsGrownByIngest", "grown", "1")
	limited := logMetric(s, c, ingest, "PartitionsAreTheLimit", "more write shards do not help: the table's partitions are the limit", "1")
	full := logMetric(s, c, ingest, "ShardMapFull", "not grown: the shard map is full", "1")
	var conflicts []awscloudwatch.Metric
	for _, table := range c.Sources() {
		conflicts = append(conflicts, tableMetric(table, "", "TransactionConflict"))
	}
	changes := total("changes of shard counts", 5, append(detectorMetrics(c, sum, "ShardCountChanges"), grown)...)
	return []alarm{{
		name: "shard-changes", cause: upkeep, metric: changes, threshold: manyChanges, periods: 1,
		text: fmt.Sprintf("Shard counts changed %d times or more in five minutes. hotshard shards list shows which keys; "+
			"control=observe stops changes.", manyChanges),
	}, {
		name: "shard-change-failures", section: "shard-changes", cause: upkeep, metric: detectorTotal(c, sum, "ShardCountChangeFailures"), threshold: 1, periods: 5, datapoints: 3,
		text: "Changes of shard counts fail. The log of hotkeys has the reason; hot keys stay hot until they succeed.",
	}, {
		name: "shard-map-full", section: "shard-changes", metric: full, threshold: 1, periods: 1,
		text: fmt.Sprintf("A hot key did not grow, because %d keys have a shard count of their own. Delete keys that are no longer written.", shardmap.MaxKeys),
	}, {
		name: "partitions-are-the-limit", cause: partitions, metric: limited, threshold: 1, periods: 5, datapoints: 3,
		text: "A key is throttled that has the maximum of useful write shards: the table has too few partitions. " +
			"DynamoDB splits them within minutes. The runbook has the command that splits them before a launch.",
	}, {
		name: "conflicts", cause: partitions, metric: filled("conflicts", conflicts...), threshold: conflictsPerMinute, periods: 5, datapoints: 3,
		text: fmt.Sprintf("Transactions conflicted %d times a minute or more, for three of five minutes. "+
			"Counters and limits then get more write shards; a player, a session or an idempotency key with many writers does not.", conflictsPerMinute),
	}}
}
