package stack

import (
	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/keyname"
)

// hotRate is from how many write units a second on a key is hot.
func (d *deployment) hotRate() float64 {
	return d.config.Hotkeys.Threshold * float64(d.config.Hotkeys.PartitionWCU)
}

// keyAlarms are about keys. That of hot keys has a series for each key, so that it
// names them as its contributors, and sends a mail for each, but none when it is over; without metrics by key it can only count them. Of a
// table that is only watched nothing grows, so that one alarm says all.
func (d *deployment) keyAlarms() []alarm {
	next := "See on the dashboard whether its shard count grew; ask GET /v1/hot-keys for advice."
	where := "at GET /v1/hot-keys"
	if d.config.Attached() {
		next = "Advice is in the log of hotkeys, which the dashboard shows."
		where = "on the dashboard"
	}
	hot := alarm{
		name: "hot-keys", section: "hot-keys", metric: d.byKey(), from: d.hotRate(), periods: 1, series: true,
		text: "A partition key takes more writes than its share of a partition. The alarm's contributors are the keys. " + next,
	}
	if d.config.Hotkeys.MetricKeys == 0 || d.config.Hotkeys.MetricNames == keyname.Unnamed {
		hot.metric, hot.from, hot.series = d.own("HotKeys", maximum), 1, false
		hot.text = "A partition key takes more writes than its share of a partition. Metrics by key are off: " +
			"its name is in the log of hotkeys and " + where + "."
	}
	if d.config.Attached() {
		return []alarm{hot}
	}
	return []alarm{hot, {
		name: "saturated-keys", section: "saturated-keys", metric: d.own("SaturatedKeys", maximum), from: 1, periods: 2,
		text: "A key was at a partition's limit for two minutes, so that more may be refused: growth did not keep up. " +
			"See GET /v1/hot-keys for the key; pin a higher shard count with PUT /v1/shards.",
	}}
}

// detectorAlarms are about what the detector could not count, or not tell.
func (d *deployment) detectorAlarms() []alarm {
	d.count(grants.Hotkeys, "MetricsNotSent", "metrics not sent", "1")
	return []alarm{{
		name: "detector-state", section: "detector-state", metric: d.own("WindowStatesDropped", sum), from: 1, periods: 1,
		text: "A window's state could not be read and counting began anew in the middle of a window: its hot keys may be missing. " +
			"Expected once when a release changes its form.",
	}, {
		name: "detector-errors", section: "detector-errors", periods: 5, of: 3, from: 1,
		metric: total("faults", 1, d.own("RecordsUnreadable", sum), d.own("HeatItemFailures", sum)),
		text:   "The detector could not read records, and left them out, or could not store what it counted, for minutes. Its log names the record or the error.",
	}, {
		name: "detector-windows", section: "detector-windows", periods: 5, of: 3, from: 1,
		metric: total("windows", 1, d.own("UncertainWindows", sum), d.own("WindowsTerminatedEarly", sum)),
		text:   "The detector's windows have more keys than it counts, so that a hot key may go unnamed, or Lambda ended them early. A larger topK has room for more keys, a shorter window for fewer.",
	}, {
		name: "metrics-not-sent", section: "metrics-not-sent", metric: d.logged("MetricsNotSent"), from: 1, periods: 5, of: 3,
		text: "hotkeys could not send its metrics, for minutes, so that the alarms that are made of them see nothing. Its log has the error.",
	}}
}
