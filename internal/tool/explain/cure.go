package explain

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Limits and bounds of cures.
const (
	awsPartitionWCU = plan.PartitionWriteUnits

	fewShare   = 0.01 // share of throttled requests up to which retries suffice
	fewMinutes = 2    // minutes with throttles up to which retries suffice
	crowd      = 5    // throttled keys from which no single key is the cause
	leading    = 0.5  // share of the throttles from which the first key is the cause after all
	largeWrite = 4    // WCU of a mean write from which smaller items help
	headroom   = 1.25 // factor of a raised limit over the demand
)

// cure returns one sentence with the first cure that applies: retries, a higher limit, warm throughput, a change of the
// index, smaller items, write shards.
func (e *Evidence) cure(g *group, t *tally, keys []Key) string {
	if has, absent := e.absent(g.ID); absent {
		return g.noIndex(has)
	}
	if text := g.retry(t, keys); text != "" {
		return text
	}
	switch t.cause {
	case Provisioned:
		return e.provision(g, t)
	case MaxOnDemand:
		return e.raiseMaximum(g, t)
	case Account:
		return fmt.Sprintf("Request a higher quota %q of DynamoDB in Service Quotas, and pace the sender of the %s until it is granted.",
			"Table-level "+string(g.op)+" throughput limit", g.what())
	}
	switch {
	case len(keys) == 0:
		return e.findKeys(g)
	case keys[0].Advice != "":
		return keys[0].Advice
	case spread(keys, t.events):
		return e.warm(g, t, keys)
	case g.op == Read:
		return fmt.Sprintf("Cache the reads of %s (DAX, or in the caller), or read it eventually consistently at half the cost: a partition reads %s RCU/s whatever the table's capacity is.", keys[0].Key, number(e.partition(Read)))
	}
	return e.relieve(g, keys[0])
}

// retry returns the cure for a few throttles, or "" if there are more.
func (g *group) retry(t *tally, keys []Key) string {
	requests := g.Of(g.op).Requests
	if requests == 0 || t.minutes == 0 || t.minutes > fewMinutes || t.events > fewShare*(requests+t.events) || len(keys) > 0 && keys[0].Hot {
		return ""
	}
	return fmt.Sprintf("Retry with backoff, and pace the burst: only %s%% of the %ss were throttled, in %s; the SDKs do it with AWS_RETRY_MODE=adaptive and AWS_MAX_ATTEMPTS=10.",
		percent(t.events/(requests+t.events)), g.op, display.Several(t.minutes, "minute"))
}

// noIndex returns the cure for throttles of an index that the table lacks.
func (g *group) noIndex(has []string) string {
	of := "it has none"
	if len(has) > 0 {
		of = "it has " + strings.Join(has, ", ")
	}
	return fmt.Sprintf("Check whose errors these are: table %s has no index %s (%s). If the index was deleted, nothing throttles any more; else the errors are of another table, Region or account.", g.Table, g.Index, of)
}

// raised returns a sufficient value of a limit that was too low: for the demand of the seconds or minutes with throttles,
// or twice the limit if the demand is unknown. It is N if both are unknown.
func (g *group) raised(t *tally, limit float64) string {
	to, used := 2*limit, max(limit, g.Of(g.op).Peak)
	switch {
	case t.rate > 0:
		to = headroom * (used + t.rate)
	case t.minutes > 0:
		to = headroom * max(limit, g.Of(g.op).Peak+t.events/(60*float64(t.minutes)))
	}
	if to == 0 {
		return "N"
	}
	return fmt.Sprintf("%.0f", math.Ceil(to))
}

func (e *Evidence) provision(g *group, t *tally) string {
	limit := g.Of(g.op).Provisioned
	to := g.raised(t, limit)
	reads, writes := known(g.Reads.Provisioned), known(g.Writes.Provisioned)
	if g.op == Read {
		reads = to
	} else {
		writes = to
	}
	values := "ReadCapacityUnits=" + reads + ",WriteCapacityUnits=" + writes
	return fmt.Sprintf("Raise the %s capacity of the %s%s to %s %s (or auto scaling's minimum, or switch to on-demand)%s: %s", g.op, g.what(), from(" from %s", limit), to, units(g.op),
		g.pressure(), e.update(g, "--provisioned-throughput "+values, `"ProvisionedThroughput":`+object(values)))
}

func (e *Evidence) raiseMaximum(g *group, t *tally) string {
	limit := g.Of(g.op).MaxOnDemand
	values := fmt.Sprintf("Max%sRequestUnits=%s", g.op.title(), g.raised(t, limit))
	return fmt.Sprintf("Raise the on-demand maximum of the %s%s, or remove it with -1%s: %s", g.what(), from(", which is %s "+units(g.op), limit), g.pressure(),
		e.update(g, "--on-demand-throughput "+values, `"OnDemandThroughput":`+object(values)))
}

// known returns a limit, or N if it is unknown.
func known(limit float64) string {
	if limit == 0 {
		return "N"
	}
	return fmt.Sprintf("%.0f", limit)
}

// from returns a phrase with a limit, or "" if the limit is unknown.
func from(phrase string, limit float64) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(phrase, number(limit))
}

// pressure returns a clause for writes of an index, which throttles the writes of its table; else "".
func (g *group) pressure() string {
	if g.Index == "" || g.op == Read {
		return ""
	}
	return "; until then the index throttles writes of its table"
}

// findKeys returns how to find the throttled key, on which the cure depends.
func (e *Evidence) findKeys(g *group) string {
	index := ""
	if g.Index != "" {
		index = " --index-name " + g.Index
	}
	return "Retry with backoff, and find the key with Contributor Insights (billed by the throttled requests): " + e.Commands.AWSLine(fmt.Sprintf(
		"dynamodb update-contributor-insights --table-name %s%s --contributor-insights-action ENABLE --contributor-insights-mode THROTTLED_KEYS", g.Call(), index))
}

// spread reports whether many keys are throttled, none is hot and none leads. The sources may list fewer keys than had
// the throttles.
func spread(keys []Key, throttles float64) bool {
	sum := 0.0
	for _, k := range keys {
		if k.Hot {
			return false
		}
		sum += k.Throttles
	}
	return len(keys) >= crowd && keys[0].Throttles < leading*max(sum, throttles)
}

func (e *Evidence) warm(g *group, t *tally, keys []Key) string {
	c := g.Of(g.op)
	values := fmt.Sprintf("%sUnitsPerSecond=%s", g.op.title(), g.raised(t, c.Warm))
	return fmt.Sprintf("Raise the warm throughput, so that DynamoDB splits the partitions: at least %d keys are throttled and none leads; or pace the sender while it splits them by itself: %s",
		len(keys), e.update(g, "--warm-throughput "+values, `"WarmThroughput":`+object(values)))
}

// relieve returns the cure for one hot key's writes.
func (e *Evidence) relieve(g *group, k Key) string {
	limit := e.partition(Write)
	n := max(2, plan.Needed(max(k.UnitsPerSecond, limit), limit, plan.CalculatedShare))
	switch {
	case g.Index != "" && g.ProjectsAll && k.UnitsPerWrite >= largeWrite:
		return fmt.Sprintf("Project fewer attributes into index %s, whose writes take %.0f WCU each: a hot key of the index throttles writes of its table.", g.Index, k.UnitsPerWrite)
	case g.Index != "":
		return fmt.Sprintf("Split %s of the index's partition key %s over %d values, or let fewer items into the index: a hot key of the index throttles writes of its table.", k.Key, cmp.Or(g.PartitionKey, "attribute"), n)
	case k.UnitsPerWrite >= largeWrite:
		return fmt.Sprintf("Shrink the items of %s, whose writes take %.0f WCU each (move large attributes to S3 or items of their own), or shard it over %d partition keys.", k.Key, k.UnitsPerWrite, n)
	}
	return fmt.Sprintf("Shard %s over %d partition keys (docs/patterns.md), since one takes %s WCU/s whatever the table's capacity is%s", k.Key, n, number(limit), e.plan(k))
}

// plan returns a clause with the command line that plans the write shards of a key, for AWS's limit of a partition.
func (e *Evidence) plan(k Key) string {
	if e.partition(Write) != awsPartitionWCU {
		return "."
	}
	return "; with its true peak: " + e.Commands.Line("plan", "--peak-wcu", fmt.Sprintf("%.0f", math.Ceil(max(e.partition(Write), k.UnitsPerSecond))))
}

// update returns the command line that sets a table's throughput, or an index's.
func (e *Evidence) update(g *group, table, index string) string {
	if g.Index == "" {
		return e.Commands.AWSLine(fmt.Sprintf("dynamodb update-table --table-name %s %s", g.Call(), table))
	}
	return e.Commands.AWSLine(fmt.Sprintf(`dynamodb update-table --table-name %s --global-secondary-index-updates '[{"Update":{"IndexName":"%s",%s}}]'`, g.Call(), g.Index, index))
}

// object returns values such as A=1,B=2 as JSON.
func object(values string) string {
	return `{"` + strings.NewReplacer("=", `":`, ",", `,"`).Replace(values) + "}"
}

func (g *group) what() string {
	if g.Index != "" {
		return "index " + g.Index
	}
	return "table"
}

func units(op Operation) string {
	if op == Read {
		return "RCU/s"
	}
	return "WCU/s"
}

// number formats a rate or count, rounded, with a comma for thousands.
func number(x float64) string {
	text := fmt.Sprintf("%.0f", x)
	if x > 0 && x < 10 && x != math.Trunc(x) {
		text = fmt.Sprintf("%.1f", x)
	}
	for at := strings.IndexByte(text+".", '.') - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func percent(share float64) string { return fmt.Sprintf("%.2g", 100*share) }
