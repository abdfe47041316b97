package load

// Result is the result of a load. Requests is the sum of Accepted, Rejected and Unknown.
type Result struct {
	Workload    string `json:"workload"`
	Target      string `json:"target"`
	Seed        uint64 `json:"seed,omitempty"` // of a generated workload
	Concurrency int    `json:"concurrency"`

	Requests int `json:"requests"` // requests whose writes were all sent
	Accepted int `json:"accepted"` // event and increment were accepted
	Rejected int `json:"rejected"` // at least one of the two was rejected after all retries
	Unknown  int `json:"unknown"`  // at least one has an unknown outcome, and none was rejected
	Retries  int `json:"retries"`  // repeated calls

	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"requests_per_second"` // requests divided by seconds

	Verify *Verify `json:"verify,omitempty"`
}

// Verify is the result of the comparison of what the API returns with what it accepted.
type Verify struct {
	Counters    int      `json:"counters"` // compared
	Entities    int      `json:"entities"` // whose events were compared
	Events      int      `json:"events"`   // that the API returned for them
	Seconds     float64  `json:"seconds"`  // that the comparison took
	Differences int      `json:"differences"`
	First       []string `json:"first_differences,omitempty"` // at most 20
}
