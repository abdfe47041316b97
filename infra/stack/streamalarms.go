package stack

import (
	"github.com/hotshard/hotshard/infra/grants"
)

// streamAlarms are about a function's reading of the stream.
func (d *deployment) streamAlarms(function string) []alarm {
	lost := "Counts of those windows are missing, and there is nothing to replay."
	if function == grants.Aggregator {
		lost = "Then run hotshard replay with the bucket's files."
	}
	return []alarm{{
		name: function + "-behind", section: "behind", metric: d.ofFunction(function, "IteratorAge", maximum),
		from: float64(d.config.MaxIteratorAge.Milliseconds()), periods: 5, of: 3,
		text: "The function " + function + " is behind the stream, which keeps records for a day. Look for errors and throttles " +
			"of the function first; a stream that outgrew it needs a larger batchSize.",
	}, {
		name: function + "-gave-up", section: "gave-up", from: 1, periods: 1,
		metric: total("records given up", 1,
			d.ofMapping(function, "OnFailureDestinationDeliveredEventCount", sum), d.ofMapping(function, "DroppedEventCount", sum)),
		text: "The function " + function + " failed on records until they were given up. They are in the failure bucket. " +
			"Find the cause in its log, and mend it. " + lost,
	}, d.pollAlarm(function)}
}

// pollAlarm tells that a mapping does not look for records. One that does says so even
// when there are none, by a zero, and one that is off, or may not read, says nothing:
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
func (d *deployment) pollAlarm(function string) alarm {
	return alarm{
		name: function + "-not-polling", section: "not-polling", metric: over(5, d.ofMapping(function, "PolledEventCount", samples)),
		from: 1, periods: 6, absent: true,
		text: "The event source mapping of " + function + " has not looked for records in half an hour: it is disabled, gone, or may not read the stream. " +
			"Look at its state; a stream keeps records for a day.",
	}
}

// summaryAlarms are about records that the aggregator put aside.
func (d *deployment) summaryAlarms() []alarm {
	d.count(grants.Aggregator, "SummariesToReplay", "not folded: targets must be computed anew", "$.targets")
	return []alarm{{
		name: "summaries-to-replay", section: "summaries-to-replay", metric: d.logged("SummariesToReplay"), from: 1, periods: 1,
		text: "Records could not be folded and were put aside, so summaries lack them. Run hotshard replay once the cause is mended.",
	}}
}
