package prove

import (
	"fmt"
	"io"
	"time"
)

// Plan is how much of each experiment there is.
type Plan struct {
	// PartitionWCU is what one partition takes a second. Rates are multiples of it.
	PartitionWCU float64 `json:"partition_wcu"`
	// Onset are the rates that one key of a table of its own is offered, one after the other for
	// Rung each. Then, after Rest, it is offered the last of them for Burst.
	Onset []float64     `json:"onset"`
	Rung  time.Duration `json:"rung_ns"`
	Rest  time.Duration `json:"rest_ns"`
	Burst time.Duration `json:"burst_ns"`
	// Storms begin with half of what a partition takes for Warm; then come Times as much for
	// Storm.
	Times float64       `json:"times"`
	Warm  time.Duration `json:"warm_ns"`
	Storm time.Duration `json:"storm_ns"`
	// Keyed are rates of calls a second with an Idempotency-Key, on a counter each, for KeyedFor.
	Keyed    []float64     `json:"keyed"`
	KeyedFor time.Duration `json:"keyed_for_ns"`
	// Callers are how many calls the burst of the cold starts has.
	Callers int `json:"callers"`
	// Settle is how long after the last call reads are made of what was accepted, and what was
	// used is asked for.
	Settle time.Duration `json:"settle_ns"`
}

// AWSPlan is for an account: some ten minutes beside the deployment.
func AWSPlan() Plan {
	return Plan{
		PartitionWCU: 1000, Onset: []float64{0.5, 0.9, 1.1, 1.5, 2}, Rung: 30 * time.Second, Rest: time.Minute, Burst: time.Minute,
		Times: 3, Warm: 20 * time.Second, Storm: time.Minute, Keyed: []float64{100, 200, 400}, KeyedFor: 20 * time.Second, Callers: 50, Settle: 5 * time.Second,
	}
}

// LocalPlan is for this machine, at a fiftieth of a partition's limit: some four minutes.
func LocalPlan() Plan {
	return Plan{
		PartitionWCU: 20, Onset: []float64{0.5, 0.9, 1.1, 1.5, 2}, Rung: 8 * time.Second, Rest: 5 * time.Second, Burst: 5 * time.Second,
		Times: 3, Warm: 10 * time.Second, Storm: 40 * time.Second, Keyed: []float64{100, 200, 400}, KeyedFor: 10 * time.Second, Callers: 20, Settle: 2 * time.Second,
	}
}

// Quick is the same in some seconds: it shows that everything works, and its figures say little.
func (p Plan) Quick() Plan {
	p.Onset, p.Rung, p.Rest, p.Burst = []float64{0.5, 2}, time.Second, 500*time.Millisecond, time.Second
	p.Warm, p.Storm, p.Keyed, p.KeyedFor, p.Callers, p.Settle = time.Second, 3*time.Second, []float64{50}, time.Second, 5, 500*time.Millisecond
	return p
}

// calls are how many calls of a kind the plan makes at most, and the units of one.
type calls struct {
	what  string
	count float64
	each  Units
}

// assumedTime is what a call is reckoned with ahead, in seconds. What calls really take, mostly
// less, is counted while the run lasts.
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
	looks := 2 * 2 * p.Storm.Seconds() / lookEvery.Seconds()
	return []calls{
		{"updates of one item of a table", onset * p.PartitionWCU, Units{WriteUnits: 1}},
		{"calls of a counter in a storm", storm, write.units(assumedTime)},
		{"calls with an event in a storm", storm, write.units(assumedTime)},
		{"keyed calls of counters", keyed, keyedWrite.units(assumedTime)},
		{"calls for cold starts", float64(p.Callers + warmCalls + 1), write.units(assumedTime)},
		{"looks at hot keys and shard counts", looks, look.units(assumedTime)},
	}
}

// Bound is the most that the run costs in USD, as far as can be said ahead.
func (p Plan) Bound() float64 {
	prices := DefaultPrices()
	sum := prices.Standing
	for _, c := range p.calls() {
		sum += prices.cost(c.each.times(c.count))
	}
	return sum
}

// Lasting is how long the experiments take.
func (p Plan) Lasting() time.Duration {
	return time.Duration(len(p.Onset))*p.Rung + p.Rest + p.Burst + 2*(p.Warm+p.Storm+2*p.Settle) + time.Duration(len(p.Keyed))*(p.KeyedFor+p.Settle)
}

// Describe says what a run does, how long that takes and what it may cost.
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
	fmt.Fprintf(out, "in %v, beside some ten minutes to deploy it, count what was used, and remove it.\n"+
		"It costs up to $%.2f as far as can be said ahead, and ends at the ceiling of $%.2f, by assumed prices.\n", lasting, o.Plan.Bound(), o.Ceiling)
}
