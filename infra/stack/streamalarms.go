package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/keyname"
)

// keyAlarms are about keys. That of hot keys has a series for each key, so that it
// names them as its contributors, and sends a mail for each, but none when it is over;
// without metrics by key it can only count them. Of a table that is only watched nothing
// grows, so that one alarm says all.
func keyAlarms(c *config.Config) []alarm {
	next := "See on the dashboard whether its shard count grew; ask GET /v1/hot-keys for advice."
	where := "at GET /v1/hot-keys"
	if c.Attached() {
		next = "Advice is in the log of hotkeys, which the dashboard shows."
		where = "on the dashboard"
	}
	hot := alarm{
		name: "hot-keys", periods: 1, series: true,
		metric: byKey(c), from: c.Hotkeys.Threshold * float64(c.Hotkeys.PartitionWCU), // from so many write units a second on a key is hot
		text: "A partition key takes more writes than its share of a partition. The alarm's contributors are the keys. " + next,
	}
	if c.Hotkeys.MetricKeys == 0 || c.Hotkeys.MetricNames == keyname.Unnamed {
		hot.metric, hot.from, hot.series = own(c, "HotKeys", maximum), 1, false
		hot.text = "A partition key takes more writes than its share of a partition. Metrics by key are off: " +
			"its name is in the log of hotkeys and " + where + "."
	}
	if c.Attached() {
		return []alarm{hot}
	}
	return []alarm{hot, {
		name: "saturated-keys", metric: own(c, "SaturatedKeys", maximum), from: 1, periods: 2,
		text: "A key was at a partition's limit for two minutes, so that more may be refused: growth did not keep up. " +
			"See GET /v1/hot-keys for the key; pin a higher shard count with PUT /v1/shards.",
	}}
}

// detectorAlarms are about what the detector could not count, or not tell.
func detectorAlarms(s awscdk.Stack, c *config.Config, hotkeys function) []alarm {
	return []alarm{{
		name: "detector-state", metric: own(c, "WindowStatesDropped", sum), from: 1, periods: 1,
		text: "A window's state could not be read and counting began anew in the middle of a window: its hot keys may be missing. " +
			"Expected once when a release changes its form.",
	}, {
		name: "detector-errors", periods: 5, of: 3, from: 1,
		metric: total("faults", 1, own(c, "RecordsUnreadable", sum), own(c, "HeatItemFailures", sum)),
		text:   "The detector could not read records, and left them out, or could not store what it counted, for minutes. Its log names the record or the error.",
	}, {
		name: "detector-windows", periods: 5, of: 3, from: 1,
		metric: total("windows", 1, own(c, "UncertainWindows", sum), own(c, "WindowsTerminatedEarly", sum)),
		text:   "The detector's windows have more keys than it counts, so that a hot key may go unnamed, or Lambda ended them early. A larger topK has room for more keys, a shorter window for fewer.",
	}, {
		name: "metrics-not-sent", metric: logged(s, c, hotkeys, "MetricsNotSent", "metrics not sent", "1"), from: 1, periods: 5, of: 3,
		text: "hotkeys could not send its metrics, for minutes, so that the alarms that are made of them see nothing. Its log has the error.",
	}}
}

// streamAlarms are about a function's reading of the stream.
func streamAlarms(c *config.Config, f function, mapping awslambda.CfnEventSourceMapping) []alarm {
	lost := "Counts of those windows are missing, and there is nothing to replay."
	if f.name == grants.Aggregator {
		lost = "Then run hotshard replay with the bucket's files."
	}
	return []alarm{{
		name: f.name + "-behind", section: "behind", metric: ofFunction(f, "IteratorAge", maximum),
		from: float64(c.MaxIteratorAge.Milliseconds()), periods: 5, of: 3,
		text: "The function " + f.name + " is behind the stream, which keeps records for a day. Look for errors and throttles " +
			"of the function first; a stream that outgrew it needs a larger batchSize.",
	}, {
		name: f.name + "-gave-up", section: "gave-up", from: 1, periods: 1,
		metric: total("records given up", 1,
			ofMapping(mapping, "OnFailureDestinationDeliveredEventCount", sum), ofMapping(mapping, "DroppedEventCount", sum)),
		text: "The function " + f.name + " failed on records until they were given up. They are in the failure bucket. " +
			"Find the cause in its log, and mend it. " + lost,
	}, {
		// A mapping that looks for records says so even when there are none, by a zero, and one
		// that is off, or may not read, says nothing:
		// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
		name: f.name + "-not-polling", section: "not-polling", metric: over(5, ofMapping(mapping, "PolledEventCount", samples)),
		from: 1, periods: 6, absent: true,
		text: "The event source mapping of " + f.name + " has not looked for records in half an hour: it is disabled, gone, or may not read the stream. " +
			"Look at its state; a stream keeps records for a day.",
	}}
}

// summaryAlarms are about records that the aggregator put aside.
func summaryAlarms(s awscdk.Stack, c *config.Config, aggregator function) []alarm {
	return []alarm{{
		name: "summaries-to-replay", from: 1, periods: 1,
		metric: logged(s, c, aggregator, "SummariesToReplay", "not folded: targets must be computed anew", "$.targets"),
		text:   "Records could not be folded and were put aside, so summaries lack them. Run hotshard replay once the cause is mended.",
	}}
}

// conflictsPerMinute are five a second. A keyed call is a transaction, which has its items for
// some milliseconds.
const conflictsPerMinute = 300

// conflicts are writes of the items table that another transaction refused.
func conflicts(c *config.Config) awscloudwatch.Metric {
	return ofTable(c.Names().Items, "", "TransactionConflict")
}

// shardAlarms are about changes of shard counts.
func shardAlarms(s awscdk.Stack, c *config.Config, ingest function) []alarm {
	grown := logged(s, c, ingest, "ShardCountsGrownByIngest", "grown", "1")
	limited := logged(s, c, ingest, "PartitionsAreTheLimit", "more write shards do not help: the table's partitions are the limit", "1")
	changes := total("changes of shard counts", 5, own(c, "ShardCountChanges", sum), grown)
	return []alarm{{
		name: "shard-changes", metric: changes, from: float64(c.MaxShardChanges), periods: 1,
		text: fmt.Sprintf("Shard counts changed %d times in five minutes, or more. See which keys on the dashboard; "+
			"control=observe stops changes.", c.MaxShardChanges),
	}, {
		name: "shard-change-failures", section: "shard-changes", metric: own(c, "ShardCountChangeFailures", sum), from: 1, periods: 5, of: 3,
		text: "Changes of shard counts fail. The log of hotkeys has the reason; hot keys stay hot until they succeed.",
	}, {
		name: "partitions-are-the-limit", metric: limited, from: 1, periods: 5, of: 3,
		text: "A key with as many write shards as can help is refused: the table has too few partitions. " +
			"DynamoDB splits them within minutes; warmWriteUnits prepares for it.",
	}, {
		name: "conflicts", metric: filled("conflicts", conflicts(c)), from: conflictsPerMinute, periods: 5, of: 3,
		text: fmt.Sprintf("Transactions on the table met each other %d times a minute, or more, for three of five minutes. "+
			"Counters and limits get more write shards by that; one player, session or idempotency key that many write does not.", conflictsPerMinute),
	}}
}
