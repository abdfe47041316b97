package plan

// leftUnreserved is the concurrency that Lambda requires an account to leave unreserved, from
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
const leftUnreserved = 100

// leastQuota is the lowest quota from which Reserve reserves concurrency. With a lower quota, reservations would
// throttle the API while the unreserved concurrency stays unused.
const leastQuota = 300

// Reservations are the reserved concurrency of a deployment's functions; 0 is none.
type Reservations struct {
	Ingest, Query int
	Stream        int // of the hotkeys function, and again of the aggregator
}

// Reserve divides an account's quota of concurrent executions, so that no function can use another's concurrency. A
// tenth of the quota and 100 more stay unreserved. Ingest gets two fifths of the rest, and each other function a fifth.
// Below a quota of 300, Reserve reserves nothing. If the quota changes, all reservations rise or all fall, so
// CloudFormation may change them in any order.
func Reserve(quota int) Reservations {
	if quota < leastQuota {
		return Reservations{}
	}
	fifth := (quota - leftUnreserved - quota/10) / 5
	return Reservations{Ingest: 2 * fifth, Query: fifth, Stream: fifth}
}
