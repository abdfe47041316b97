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

	fewShare     = 0.01 // up to this share of throttled requests, retries suffice
	fewMinutes   = 2    // up to this number of minutes with throttles, retries suffice
	manyKeys     = 5    // from this number of throttled keys, no single key is the cause...
	leadingShare = 0.5  // ...unless one key has this share of the throttles
	largeWrite   = 4    // from this number of WCU for a mean write, smaller items help
	headroom     = 1.25 // a raised limit is the demand times this
)

// cure returns a sentence with the first cure that applies to throttles of one cause. keys begin with the worst key.
func (e *Evidence) cure(g *group, t *tally, keys []Key) string {
	if existing, absent := e.lacksIndex(g.ID); absent {
		return g.noIndexCure(existing)
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

// retryCure returns the cure for few throttles without a hot key; "" otherwise, or if requests or minutes are unknown.
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

// noIndexCure returns the cure for throttles of an index that the table lacks. existing are the indexes that the table has.
func (g *group) noIndexCure(existing []string) string {
	indexes := "it has " + cmp.Or(strings.Join(existing, ", "), "none")
	return fmt.Sprintf("Check whose errors these are: table %s has no index %s (%s). If the index was deleted, nothing throttles any more; else the errors are of another table, Region or account.", g.Table, g.Index, indexes)
}

// raisedLimit returns a sufficient value for a limit that was too low, in units a second: the demand when requests were
// throttled, with headroom, or twice the limit if the demand is unknown. It returns "N" if the limit is unknown, too.
func (g *group) raisedLimit(t *tally, limit float64) string {
	raised, peak := 2*limit, g.Capacity(g.op).Peak
	switch {
	case t.rate > 0:
		raised = headroom * (max(limit, peak) + t.rate)
	case t.minutes > 0:
		raised = headroom * max(limit, peak+t.events/(60*float64(t.minutes)))
	}
	return limitOrN(math.Ceil(raised))
}

// provisionCure returns the cure for exceeded provisioned capacity: the command that raises it.
func (e *Evidence) provisionCure(g *group, t *tally) string {
	limit := g.Capacity(g.op).Provisioned
	raised := g.raisedLimit(t, limit)
	reads, writes := limitOrN(g.Reads.Provisioned), limitOrN(g.Writes.Provisioned)
	if g.op == Read {
		reads = raised
	} else {
		writes = raised
	}
	values := "ReadCapacityUnits=" + reads + ",WriteCapacityUnits=" + writes
	return fmt.Sprintf("Raise the %s capacity of the %s%s to %s %s (or auto scaling's minimum, or switch to on-demand)%s: %s", g.op, g.describe(), withLimit(" from %s", limit), raised, units(g.op),
		g.indexClause(), e.updateCommand(g, "--provisioned-throughput "+values, `"ProvisionedThroughput":`+jsonObject(values)))
}

// maximumCure returns the cure for an exceeded on-demand maximum: the command that raises it.
func (e *Evidence) maximumCure(g *group, t *tally) string {
	limit := g.Capacity(g.op).MaxOnDemand
	values := fmt.Sprintf("Max%sRequestUnits=%s", g.op.title(), g.raisedLimit(t, limit))
	return fmt.Sprintf("Raise the on-demand maximum of the %s%s, or remove it with -1%s: %s", g.describe(), withLimit(", which is %s "+units(g.op), limit), g.indexClause(),
		e.updateCommand(g, "--on-demand-throughput "+values, `"OnDemandThroughput":`+jsonObject(values)))
}

// limitOrN returns a limit as text, or "N" if it is 0, which means unknown.
func limitOrN(limit float64) string {
	if limit == 0 {
		return "N"
	}
	return fmt.Sprintf("%.0f", limit)
}

// withLimit returns a phrase with a limit in place of %s, or "" if the limit is 0, which means unknown.
func withLimit(phrase string, limit float64) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(phrase, number(limit))
}

// indexClause returns a clause on what a throttled index does to its table's writes; "" for reads and tables.
func (g *group) indexClause() string {
	if g.Index == "" || g.op == Read {
		return ""
	}
	return "; until then the index throttles writes of its table"
}

// findKeysCure returns the cure for unknown keys: the command that has CloudWatch list them.
func (e *Evidence) findKeysCure(g *group) string {
	index := ""
	if g.Index != "" {
		index = " --index-name " + g.Index
	}
	return "Retry with backoff, and find the key with Contributor Insights (on the table's Monitor tab; billed by the throttled requests): " + e.Commands.AWSLine(fmt.Sprintf(
		"dynamodb update-contributor-insights --table-name %s%s --contributor-insights-action ENABLE --contributor-insights-mode THROTTLED_KEYS", g.NameInCalls(), index))
}

// isSpread reports whether many keys are throttled, none is hot, and none has leadingShare of the throttles. allThrottles
// includes those of keys that no source lists.
func isSpread(keys []Key, allThrottles float64) bool {
	sum := 0.0
	for _, k := range keys {
		if k.Hot {
			return false
		}
		sum += k.Throttles
	}
	return len(keys) >= manyKeys && keys[0].Throttles < leadingShare*max(sum, allThrottles)
}

// warmCure returns the cure for many throttled keys: the command that raises the warm throughput.
func (e *Evidence) warmCure(g *group, t *tally, keys []Key) string {
	values := fmt.Sprintf("%sUnitsPerSecond=%s", g.op.title(), g.raisedLimit(t, g.Capacity(g.op).Warm))
	return fmt.Sprintf("Raise the warm throughput, so that DynamoDB splits the partitions: at least %d keys are throttled and none leads; or pace the sender while it splits them by itself: %s",
		len(keys), e.updateCommand(g, "--warm-throughput "+values, `"WarmThroughput":`+jsonObject(values)))
}

// oneKeyCure returns the cure for one hot key's writes: smaller writes, or more partition keys.
func (e *Evidence) oneKeyCure(g *group, key Key) string {
	limit := e.partition(Write)
	keys := max(2, plan.Needed(max(key.UnitsPerSecond, limit), limit, plan.CalculatedShare))
	switch {
	case g.Index != "" && g.ProjectsAll && key.UnitsPerWrite >= largeWrite:
		return fmt.Sprintf("Project fewer attributes into index %s, whose writes take %.0f WCU each: a hot key of the index throttles writes of its table.", g.Index, key.UnitsPerWrite)
	case g.Index != "":
		return fmt.Sprintf("Split %s of the index's partition key %s over %d values, or let fewer items into the index: a hot key of the index throttles writes of its table.", key.Key, cmp.Or(g.PartitionKey, "attribute"), keys)
	case key.UnitsPerWrite >= largeWrite:
		return fmt.Sprintf("Shrink the items of %s, whose writes take %.0f WCU each (move large attributes to S3 or items of their own), or shard it over %d partition keys.", key.Key, key.UnitsPerWrite, keys)
	}
	return fmt.Sprintf("Shard %s over %d partition keys (docs/patterns.md), since one takes %s WCU/s whatever the table's capacity is%s", key.Key, keys, number(limit), e.planClause(key))
}

// planClause returns the end of a sentence: a clause with the command line that plans a key's write shards or, if a
// partition's limit is not AWS's, a full stop.
func (e *Evidence) planClause(key Key) string {
	limit := e.partition(Write)
	if limit != awsPartitionWCU {
		return "."
	}
	return "; with its true peak: " + e.Commands.Line("plan", "--peak-wcu", fmt.Sprintf("%.0f", math.Ceil(max(limit, key.UnitsPerSecond))))
}

// updateCommand returns the command line that sets the throughput of a table by tableFlags, or of an index by indexJSON.
func (e *Evidence) updateCommand(g *group, tableFlags, indexJSON string) string {
	if g.Index == "" {
		return e.Commands.AWSLine(fmt.Sprintf("dynamodb update-table --table-name %s %s", g.NameInCalls(), tableFlags))
	}
	return e.Commands.AWSLine(fmt.Sprintf(`dynamodb update-table --table-name %s --global-secondary-index-updates '[{"Update":{"IndexName":"%s",%s}}]'`, g.NameInCalls(), g.Index, indexJSON))
}

// jsonObject returns A=1,B=2 as {"A":1,"B":2}.
func jsonObject(values string) string {
	return `{"` + strings.NewReplacer("=", `":`, ",", `,"`).Replace(values) + "}"
}

// describe returns "table", or "index" and the index's name.
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

// number formats a rate or count with commas between thousands. It rounds to one decimal below 10, and else to a whole number.
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
