package plan

// leftUnreserved is the concurrency that Lambda requires an account to leave unreserved, from
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
const leftUnreserved = 100

// leastQuota is the lowest quota from which Reserve reserves concurrency. With less, reservations would throttle the API
// while leftUnreserved stays unused.
const leastQuota = 300

// Reservations are the reserved concurrency of a deployment's functions; 0 is none.
type Reservations struct {
	Ingest, Query int
	Stream        int // of hotkeys, and as much of the aggregator
}

// Reserve divides an account's quota of concurrent executions: a tenth and 100 stay unreserved, ingest gets two fifths of
// the rest, each other function a fifth. So no function can take another's concurrency. It reserves nothing of a quota
// below 300. With the quota all reservations rise or all fall, so CloudFormation may change them in any order.
func Reserve(quota int) Reservations {
	if quota < leastQuota {
		return Reservations{}
	}
	fifth := (quota - leftUnreserved - quota/10) / 5
	return Reservations{Ingest: 2 * fifth, Query: fifth, Stream: fifth}
}
