package prove

import (
	"fmt"
	"io"
	"time"
)

// Plan is the size of each experiment.
type Plan struct {
	// PartitionWCU is the WCU/s of one partition. Rates are multiples of it.
	PartitionWCU float64 `json:"partition_wcu"`
	// Onset has the rates of writes to one key of a new table, each for Rung. After Rest the last rate is repeated for
	// Burst.
	Onset []float64     `json:"onset"`
	Rung  time.Duration `json:"rung_ns"`
	Rest  time.Duration `json:"rest_ns"`
	Burst time.Duration `json:"burst_ns"`
	// A storm begins with half of a partition's limit for Warm, followed by Times the limit for Storm.
	Times float64       `json:"times"`
	Warm  time.Duration `json:"warm_ns"`
	Storm time.Duration `json:"storm_ns"`
	// Keyed has rates of calls per second with an Idempotency-Key, each on a new counter for KeyedFor.
	Keyed    []float64     `json:"keyed"`
	KeyedFor time.Duration `json:"keyed_for_ns"`
	// Callers is the number of concurrent calls in the burst of cold starts.
	Callers int `json:"callers"`
	// Settle is the time after the last call until the accepted calls are counted by reads, and the used units are
	// read.
	Settle time.Duration `json:"settle_ns"`
}

// AWSPlan returns the plan for an account: ten minutes plus the deployment.
func AWSPlan() Plan {
	return Plan{
		PartitionWCU: 1000, Onset: []float64{0.5, 0.9, 1.1, 1.5, 2}, Rung: 30 * time.Second, Rest: time.Minute, Burst: time.Minute,
		Times: 3, Warm: 20 * time.Second, Storm: time.Minute, Keyed: []float64{100, 200, 400}, KeyedFor: 20 * time.Second, Callers: 50, Settle: 5 * time.Second,
	}
}

// LocalPlan returns the plan for this machine, at a fiftieth of a partition's limit: four minutes.
func LocalPlan() Plan {
	return Plan{
		PartitionWCU: 20, Onset: []float64{0.5, 0.9, 1.1, 1.5, 2}, Rung: 8 * time.Second, Rest: 5 * time.Second, Burst: 5 * time.Second,
		Times: 3, Warm: 10 * time.Second, Storm: 40 * time.Second, Keyed: []float64{100, 200, 400}, KeyedFor: 10 * time.Second, Callers: 20, Settle: 2 * time.Second,
	}
}

// Quick returns a plan for a few seconds. It tests that everything works; its figures mean little.
func (p Plan) Quick() Plan {
	p.Onset, p.Rung, p.Rest, p.Burst = []float64{0.5, 2}, time.Second, 500*time.Millisecond, time.Second
	p.Warm, p.Storm, p.Keyed, p.KeyedFor, p.Callers, p.Settle = time.Second, 3*time.Second, []float64{50}, time.Second, 5, 500*time.Millisecond
	return p
}

// calls is the maximum number of calls of a kind, and the units of one.
type calls struct {
	what  string
	count float64
	each  Units
}

// assumedTime is the assumed duration of a call in seconds, for the estimate before the run. The run counts the real
// durations, which are mostly shorter.
const assumedTime = 0.3

func (p Plan) calls() []calls {
	onset := p.Burst.Seconds() * p.Onset[len(p.Onset)-1]
	for _, times := range p.Onset {
		onset += times * p.Rung.Seconds()
	}
	storm := p.PartitionWCU * (p.Warm.Seconds()/2 + p.Times*p.Storm.Seconds())
	keyed := 0.0
	for _, rate := range p.Keyed {
		keyed += rate * p.KeyedFor.Seconds()
	}
	reads := 2 * 2 * p.Storm.Seconds() / heatEvery.Seconds()
	return []calls{
		{"updates of one item of a table", onset * p.PartitionWCU, Units{WriteUnits: 1}},
		{"calls of a counter in a storm", storm, write.units(assumedTime)},
		{"calls with an event in a storm", storm, write.units(assumedTime)},
		{"keyed calls of counters", keyed, keyedWrite.units(assumedTime)},
		{"calls for cold starts", float64(p.Callers + warmCalls + 1), write.units(assumedTime)},
		{"reads of hot keys and shard counts", reads, readHeat.units(assumedTime)},
	}
}

// Bound returns the estimated maximum cost of the run, in USD.
func (p Plan) Bound() float64 {
	prices := DefaultPrices()
	sum := prices.Standing
	for _, c := range p.calls() {
		sum += prices.cost(c.each.times(c.count))
	}
	return sum
}

// Lasting returns the duration of the experiments.
func (p Plan) Lasting() time.Duration {
	return time.Duration(len(p.Onset))*p.Rung + p.Rest + p.Burst + 2*(p.Warm+p.Storm+2*p.Settle) + time.Duration(len(p.Keyed))*(p.KeyedFor+p.Settle)
}

// Describe prints what a run does, its duration and its maximum cost.
func (o Options) Describe(out io.Writer) {
	fmt.Fprintf(out, "hotshard prove, on %s\nIt makes tables and functions whose names begin with %s, and removes them at its end. Up to\n", o.Site.About(), family)
	for _, c := range o.Plan.calls() {
		fmt.Fprintf(out, "%8.0f %s\n", c.count, c.what)
	}
	lasting := o.Plan.Lasting().Round(time.Second)
	if _, here := o.Site.(Local); here {
		fmt.Fprintf(out, "in %v.\nOn AWS that would cost up to $%.2f; here it costs nothing. The ceiling is $%.2f.\n", lasting, o.Plan.Bound(), o.Ceiling)
		return
	}
	fmt.Fprintf(out, "in %v, plus some ten minutes to deploy it, to count what was used, and to remove it.\n"+
		"By assumed prices it costs up to $%.2f, and it ends at the ceiling of $%.2f.\n", lasting, o.Plan.Bound(), o.Ceiling)
}
