package schema

import (
	"crypto/sha256"
	"strconv"
)

// A failure stores that records could not be folded into a target. It is the aggregator's failure
// destination, an item of the rollups table, and is kept until the target is computed again:
//
//	pk           S  F#<0 to 15>, by the target
//	sk           S  the target: C#<counter>#<partial>, the summary's own partition
//	                key, E#<entity>#<hour>, or L#<board>#<period>; ?<stream
//	                shard>#<sequence number> for a record that does not name its
//	                target
//	reason       S  of the newest record
//	sequence     S  the newest record's sequence number, in the record's form
//	stream_shard S  the newest record's; absent if the delivery doesn't name it
//	failures     N  deliveries of records; a redelivered record counts again
//	first_at     N  Unix milliseconds
//	last_at      N  Unix milliseconds
//	v            N  1
const (
	FailurePrefix   = "F#"
	FailureReason   = "reason"
	FailureSequence = "sequence"
	FailureCount    = "failures"
	FailureLast     = "last_at"
)

// failureSalts is the number of partition keys of failures.
const failureSalts = 16

// FailurePartitions returns the partition keys of all failures.
func FailurePartitions() []string { return salted(FailurePrefix, failureSalts) }

// salted returns the partition keys over which items are spread: the prefix with 0 to salts-1.
func salted(prefix string, salts int) []string {
	list := make([]string, salts)
	for i := range list {
		list[i] = prefix + strconv.Itoa(i)
	}
	return list
}

// FailureKey returns the keys of a target's failure.
func FailureKey(target string) (pk, sk string) {
	sum := sha256.Sum256([]byte(target))
	return FailurePrefix + strconv.Itoa(int(sum[0])%failureSalts), target
}

// UnknownTarget returns the target of a record that does not name its own.
func UnknownTarget(streamShard, sequence string) string {
	return "?" + streamShard + "#" + sequence
}
