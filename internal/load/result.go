package load

// Result is what a load came to. Every request is accepted, rejected or
// unknown, unless an error ended the load.
type Result struct {
	Workload    string `json:"workload"`
	Target      string `json:"target"`
	Seed        uint64 `json:"seed,omitempty"` // of a generated workload
	Concurrency int    `json:"concurrency"`
	Batch       int    `json:"batch"`
	Keyed       bool   `json:"keyed"`           // increments and scores had an Idempotency-Key
	Board       string `json:"board,omitempty"` // that got the scores

	Requests int `json:"requests"` // of which every write was sent
	Accepted int `json:"accepted"` // event, increment and score
	Rejected int `json:"rejected"` // one of them found no capacity, retries included
	Unknown  int `json:"unknown"`  // one of them may have been applied, none was rejected
	Retries  int `json:"retries"`  // calls sent again

	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"requests_per_second"` // requests over seconds

	Latency   Percentiles `json:"call_latency"` // of answered write calls
	Freshness Freshness   `json:"freshness"`

	Baseline *Baseline `json:"baseline,omitempty"`
	Verify   *Verify   `json:"verify,omitempty"`
}

// Percentiles are of durations in milliseconds.
type Percentiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
}

// Freshness is the time from the answer that accepts an increment of the
// counter [ProbeCounter] until a reader of the summary sees it.
type Freshness struct {
	Percentiles
	Missed int `json:"missed"` // not seen within 10 s
}

// Baseline is what the same writes without the API came to.
type Baseline struct {
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"requests_per_second"`
	Ratio     float64 `json:"ratio"` // of the API's requests a second to the baseline's
}

// Verify is what the comparison came to.
type Verify struct {
	Counters    int      `json:"counters"`   // compared, the probe's included
	Entities    int      `json:"entities"`   // whose events were compared
	Events      int      `json:"events"`     // that the API returned for them
	Players     int      `json:"players"`    // of the board, whose scores and ranks were compared
	RankError   int64    `json:"rank_error"` // the largest that the API stated of them
	Seconds     float64  `json:"seconds"`
	Differences int      `json:"differences"`
	First       []string `json:"first_differences,omitempty"` // at most 20
}
