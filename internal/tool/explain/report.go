package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/hotshard/hotshard/internal/base/display"
)

// Report is the result of [Explain], and its JSON.
type Report struct {
	Table    string       `json:"table"`    // the table's name, or a pattern for the names of several
	From     display.Time `json:"from"`     // start of the time; that of a limiter if one counted
	To       display.Time `json:"to"`       // end of the time; without throttles, of the time that CloudWatch has counted
	Findings []Finding    `json:"findings"` // largest share first
	Unknown  float64      `json:"unknown"`  // share of the throttles that no finding explains; 1 if no source counts throttles

	Throttles float64  `json:"throttles"` // throttled requests that were counted
	Counted   bool     `json:"counted"`   // whether a source counts all throttles: then 0 throttles means that nothing was throttled
	Notes     []string `json:"notes"`     // what can't be known, and why: a sentence each
	Next      []string `json:"next"`      // lines on what to do about throttles without a finding; empty if there are none
}

// Confidence says how a finding's reason is known.
type Confidence string

// A source named a Measured reason. A Likely reason follows from errors' texts.
const (
	Measured Confidence = "measured"
	Likely   Confidence = "likely"
)

// Finding is one reason on one table or index.
type Finding struct {
	Reason     string     `json:"reason"`     // one of DynamoDB's 16 reasons
	Scope      string     `json:"scope"`      // what the limit belongs to: table, index or account
	Resource   string     `json:"resource"`   // ARN of the table or index
	Keys       []KeyRate  `json:"keys"`       // throttled or hot partition keys, the worst first
	Operation  Operation  `json:"operation"`  // the throttled requests
	Share      float64    `json:"share"`      // share of all throttles of the time
	Evidence   []Source   `json:"evidence"`   // what names the reason and the keys
	Cure       string     `json:"cure"`       // what helps first, in a sentence, with the command or setting
	Confidence Confidence `json:"confidence"` // measured: a source named the reason; likely: it follows from errors' texts

	ID ID `json:"-"`
}

// KeyRate is a partition key of a finding. Rates that are 0 are unknown.
type KeyRate struct {
	Key       string  `json:"key"`                              // the partition key
	Units     float64 `json:"write_units_per_second,omitempty"` // WCU/s of its successful writes in the hottest window
	Throttles float64 `json:"throttles_per_second,omitempty"`   // mean over the time
	Source    string  `json:"source"`                           // what named the key
}

// Explain returns a finding for each reason that the evidence names or implies. Throttles without exactly one possible
// reason are Unknown. It adds no notes and no next steps: see [Run].
func Explain(e Evidence) Report {
	r := Report{Table: e.Name, From: display.Time{Time: e.From}, To: display.Time{Time: e.To}, Findings: []Finding{}, Counted: e.Counted, Notes: []string{}, Next: []string{}}
	groups := e.groups()
	for _, g := range groups {
		r.Throttles += g.throttles()
	}
	r.Throttles = max(r.Throttles, e.Logged)
	if r.Throttles == 0 {
		if !e.Counted {
			r.Unknown = 1
		}
		return r
	}
	known := 0.0
	for _, g := range groups {
		for _, t := range g.tallies {
			known += t.events
			r.Findings = append(r.Findings, e.finding(g, t, t.events/r.Throttles))
		}
	}
	r.Unknown = rounded(1 - known/r.Throttles)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Reason, b.Reason))
	})
	return r
}

// rounded rounds a share up to four decimals, so that no positive share becomes 0. It returns 0 for a negative share.
func rounded(share float64) float64 { return max(0, math.Ceil(share*1e4-1e-6)/1e4) }

// group has the throttles of one operation on one table or index.
type group struct {
	*Resource
	op      Operation
	total   float64  // of all causes, by the source that counts most; 0 if no source has a total
	tallies []*tally // by cause
}

// tally has the throttles of one cause.
type tally struct {
	cause      Cause
	events     float64
	minutes    int
	rate       float64
	sources    []Source
	confidence Confidence
}

// throttles returns the number of throttles. A request that two limits throttled counts twice.
func (g *group) throttles() float64 {
	sum := 0.0
	for _, t := range g.tallies {
		sum += t.events
	}
	return max(g.total, sum)
}

// groups returns the counts by operation and by table or index. If several sources count one cause, the largest count is
// used.
func (e *Evidence) groups() (groups []*group) {
	for _, c := range e.Counts {
		if c.Events <= 0 {
			continue
		}
		at := slices.IndexFunc(groups, func(g *group) bool { return g.ID == c.ID && g.op == c.Operation })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{Resource: e.resource(c.ID), op: c.Operation})
		}
		groups[at].addCount(c)
	}
	return groups
}

// addCount adds a source's count: to the tally of its cause, or to the total if it has no cause.
func (g *group) addCount(count Count) {
	if count.Cause == "" {
		g.total = max(g.total, count.Events)
		return
	}
	at := slices.IndexFunc(g.tallies, func(t *tally) bool { return t.cause == count.Cause })
	if at < 0 {
		at = len(g.tallies)
		g.tallies = append(g.tallies, &tally{cause: count.Cause, confidence: Likely})
	}
	t := g.tallies[at]
	if !count.Guessed {
		t.confidence = Measured
	}
	t.events, t.minutes, t.rate = max(t.events, count.Events), max(t.minutes, count.Minutes), max(t.rate, count.Rate)
	t.sources = append(t.sources, count.Source)
}

// resource returns the Resource of a table or index. If the evidence has none, the Resource has only the ID.
func (e *Evidence) resource(id ID) *Resource {
	for i := range e.Resources {
		if e.Resources[i].ID == id {
			return &e.Resources[i]
		}
	}
	return &Resource{ID: id}
}

// partition returns a partition's limit in units a second.
func (e *Evidence) partition(op Operation) float64 {
	if op == Read {
		return cmp.Or(e.PartitionRCU, 3*cmp.Or(e.PartitionWCU, awsPartitionWCU))
	}
	return cmp.Or(e.PartitionWCU, awsPartitionWCU)
}

// finding returns the finding for the throttles of one cause, which are this share of all throttles.
func (e *Evidence) finding(g *group, t *tally, share float64) Finding {
	reason := Reason{g.ID, g.op, t.cause}
	f := Finding{
		Reason: reason.String(), Scope: "table", Resource: e.resourceText(g.Resource), Operation: g.op, Share: rounded(share),
		Confidence: t.confidence, ID: g.ID,
	}
	switch {
	case t.cause == Account:
		f.Scope = "account"
	case g.Index != "":
		f.Scope = "index"
	}
	keys, keySources := e.keysOf(reason)
	f.Evidence = slices.Concat(t.sources, keySources)
	f.Keys = e.rates(keys)
	f.Cure = e.cure(g, t, keys)
	return f
}

// resourceText returns the ARN of a table or index, or its name if the ARN is unknown.
func (e *Evidence) resourceText(r *Resource) string {
	switch table := e.resource(ID{Table: r.Table}); {
	case r.ARN != "":
		return r.ARN
	case r.Index != "":
		return cmp.Or(table.ARN, r.Table) + "/index/" + r.Index
	}
	return r.Table
}

// lacksIndex reports whether an index's table was described and lacks the index. Then existing has the table's indexes.
func (e *Evidence) lacksIndex(id ID) (existing []string, absent bool) {
	if id.Index == "" || e.resource(ID{Table: id.Table}).ARN == "" || e.resource(id).ARN != "" {
		return nil, false
	}
	for _, r := range e.Resources {
		if r.Table == id.Table && r.Index != "" {
			existing = append(existing, r.Index)
		}
	}
	return existing, true
}
