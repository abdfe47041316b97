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

	fewShare     = 0.01 // share of throttled requests up to which retries suffice
	fewMinutes   = 2    // minutes with throttles up to which retries suffice
	manyKeys     = 5    // throttled keys from which no single key is the cause
	leadingShare = 0.5  // share of the throttles from which the first key is the cause after all
	largeWrite   = 4    // WCU of a mean write from which smaller items help
	headroom     = 1.25 // factor of a raised limit over the demand
)

// cure returns one sentence with the first cure that applies: retries, a higher limit, warm throughput, a change of the
// index, smaller items, write shards.
func (e *Evidence) cure(g *group, t *tally, keys []Key) string {
	if has, absent := e.lacksIndex(g.ID); absent {
		return g.noIndexCure(has)
	}
	if text := g.retryCure(t, keys); text != "" {
		return text
	}
	switch t.cause {
	case Provisioned:
		return e.provisionCure(g, t)
	case MaxOnDemand:
		return e.maximumCure(g, t)
	case Account:
		return fmt.Sprintf("Request a higher quota %q of DynamoDB in Service Quotas, and pace the sender of the %s until it is granted.",
			"Table-level "+string(g.op)+" throughput limit", g.describe())
	}
	switch {
	case len(keys) == 0:
		return e.findKeysCure(g)
	case keys[0].Advice != "":
		return keys[0].Advice
	case isSpread(keys, t.events):
		return e.warmCure(g, t, keys)
	case g.op == Read:
		return fmt.Sprintf("Cache the reads of %s (DAX, or in the caller), or read it eventually consistently at half the cost: a partition reads %s RCU/s whatever the table's capacity is.", keys[0].Key, number(e.partition(Read)))
	}
	return e.oneKeyCure(g, keys[0])
}

// retryCure returns the cure for a few throttles, or "" if there are more.
func (g *group) retryCure(t *tally, keys []Key) string {
	requests := g.Capacity(g.op).Requests
	few := t.minutes > 0 && t.minutes <= fewMinutes && t.events <= fewShare*(requests+t.events)
	hasHotKey := len(keys) > 0 && keys[0].Hot
	if requests == 0 || !few || hasHotKey {
		return ""
	}
	return fmt.Sprintf("Retry with backoff, and pace the burst: only %s%% of the %ss were throttled, in %s; the SDKs do it with AWS_RETRY_MODE=adaptive and AWS_MAX_ATTEMPTS=10.",
		percent(t.events/(requests+t.events)), g.op, display.Several(t.minutes, "minute"))
}

// noIndexCure returns the cure for throttles of an index that the table lacks.
func (g *group) noIndexCure(has []string) string {
	indexes := "it has none"
	if len(has) > 0 {
		indexes = "it has " + strings.Join(has, ", ")
	}
	return fmt.Sprintf("Check whose errors these are: table %s has no index %s (%s). If the index was deleted, nothing throttles any more; else the errors are of another table, Region or account.", g.Table, g.Index, indexes)
}

// raisedLimit returns a sufficient value of a limit that was too low, in units a second: the demand in the seconds or minutes
// with throttles, or twice the limit if the demand is unknown. It returns N if both are unknown.
func (g *group) raisedLimit(t *tally, limit float64) string {
	to, used := 2*limit, max(limit, g.Capacity(g.op).Peak)
	switch {
	case t.rate > 0:
		to = headroom * (used + t.rate)
	case t.minutes > 0:
		to = headroom * max(limit, g.Capacity(g.op).Peak+t.events/(60*float64(t.minutes)))
	}
	if to == 0 {
		return "N"
	}
	return fmt.Sprintf("%.0f", math.Ceil(to))
}

func (e *Evidence) provisionCure(g *group, t *tally) string {
	limit := g.Capacity(g.op).Provisioned
	to := g.raisedLimit(t, limit)
	reads, writes := limitOrN(g.Reads.Provisioned), limitOrN(g.Writes.Provisioned)
	if g.op == Read {
		reads = to
	} else {
		writes = to
	}
	values := "ReadCapacityUnits=" + reads + ",WriteCapacityUnits=" + writes
	return fmt.Sprintf("Raise the %s capacity of the %s%s to %s %s (or auto scaling's minimum, or switch to on-demand)%s: %s", g.op, g.describe(), withLimit(" from %s", limit), to, units(g.op),
		g.indexClause(), e.updateCommand(g, "--provisioned-throughput "+values, `"ProvisionedThroughput":`+jsonObject(values)))
}

func (e *Evidence) maximumCure(g *group, t *tally) string {
	limit := g.Capacity(g.op).MaxOnDemand
	values := fmt.Sprintf("Max%sRequestUnits=%s", g.op.title(), g.raisedLimit(t, limit))
	return fmt.Sprintf("Raise the on-demand maximum of the %s%s, or remove it with -1%s: %s", g.describe(), withLimit(", which is %s "+units(g.op), limit), g.indexClause(),
		e.updateCommand(g, "--on-demand-throughput "+values, `"OnDemandThroughput":`+jsonObject(values)))
}

// limitOrN returns a limit, or N if it is unknown.
func limitOrN(limit float64) string {
	if limit == 0 {
		return "N"
	}
	return fmt.Sprintf("%.0f", limit)
}

// withLimit returns a phrase with a limit, or "" if the limit is unknown.
func withLimit(phrase string, limit float64) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(phrase, number(limit))
}

// indexClause returns a clause for writes of an index, which throttles the writes of its table; else "".
func (g *group) indexClause() string {
	if g.Index == "" || g.op == Read {
		return ""
	}
	return "; until then the index throttles writes of its table"
}

// findKeysCure returns how to find the throttled key, on which the cure depends.
func (e *Evidence) findKeysCure(g *group) string {
	index := ""
	if g.Index != "" {
		index = " --index-name " + g.Index
	}
	return "Retry with backoff, and find the key with Contributor Insights (billed by the throttled requests): " + e.Commands.AWSLine(fmt.Sprintf(
		"dynamodb update-contributor-insights --table-name %s%s --contributor-insights-action ENABLE --contributor-insights-mode THROTTLED_KEYS", g.NameInCalls(), index))
}

// isSpread reports whether many keys are throttled, none is hot and none leads. throttles counts also those of keys that
// the sources don't list.
func isSpread(keys []Key, throttles float64) bool {
	sum := 0.0
	for _, k := range keys {
		if k.Hot {
			return false
		}
		sum += k.Throttles
	}
	return len(keys) >= manyKeys && keys[0].Throttles < leadingShare*max(sum, throttles)
}

func (e *Evidence) warmCure(g *group, t *tally, keys []Key) string {
	c := g.Capacity(g.op)
	values := fmt.Sprintf("%sUnitsPerSecond=%s", g.op.title(), g.raisedLimit(t, c.Warm))
	return fmt.Sprintf("Raise the warm throughput, so that DynamoDB splits the partitions: at least %d keys are throttled and none leads; or pace the sender while it splits them by itself: %s",
		len(keys), e.updateCommand(g, "--warm-throughput "+values, `"WarmThroughput":`+jsonObject(values)))
}

// oneKeyCure returns the cure for one hot key's writes.
func (e *Evidence) oneKeyCure(g *group, key Key) string {
	limit := e.partition(Write)
	n := max(2, plan.Needed(max(key.UnitsPerSecond, limit), limit, plan.CalculatedShare))
	switch {
	case g.Index != "" && g.ProjectsAll && key.UnitsPerWrite >= largeWrite:
		return fmt.Sprintf("Project fewer attributes into index %s, whose writes take %.0f WCU each: a hot key of the index throttles writes of its table.", g.Index, key.UnitsPerWrite)
	case g.Index != "":
		return fmt.Sprintf("Split %s of the index's partition key %s over %d values, or let fewer items into the index: a hot key of the index throttles writes of its table.", key.Key, cmp.Or(g.PartitionKey, "attribute"), n)
	case key.UnitsPerWrite >= largeWrite:
		return fmt.Sprintf("Shrink the items of %s, whose writes take %.0f WCU each (move large attributes to S3 or items of their own), or shard it over %d partition keys.", key.Key, key.UnitsPerWrite, n)
	}
	return fmt.Sprintf("Shard %s over %d partition keys (docs/patterns.md), since one takes %s WCU/s whatever the table's capacity is%s", key.Key, n, number(limit), e.planClause(key))
}

// planClause returns a clause with the command line that plans the write shards of a key, for AWS's limit of a partition.
func (e *Evidence) planClause(k Key) string {
	if e.partition(Write) != awsPartitionWCU {
		return "."
	}
	return "; with its true peak: " + e.Commands.Line("plan", "--peak-wcu", fmt.Sprintf("%.0f", math.Ceil(max(e.partition(Write), k.UnitsPerSecond))))
}

// updateCommand returns the command line that sets a table's throughput, or an index's.
func (e *Evidence) updateCommand(g *group, table, index string) string {
	if g.Index == "" {
		return e.Commands.AWSLine(fmt.Sprintf("dynamodb update-table --table-name %s %s", g.NameInCalls(), table))
	}
	return e.Commands.AWSLine(fmt.Sprintf(`dynamodb update-table --table-name %s --global-secondary-index-updates '[{"Update":{"IndexName":"%s",%s}}]'`, g.NameInCalls(), g.Index, index))
}

// jsonObject returns values such as A=1,B=2 as JSON.
func jsonObject(values string) string {
	return `{"` + strings.NewReplacer("=", `":`, ",", `,"`).Replace(values) + "}"
}

func (g *group) describe() string {
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
