package schema

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// A failure is a target that lacks what a record said which could not be folded. It
// is the failure destination of the aggregator, in the rollups table, and is kept
// until the target was computed anew:
//
//	pk           S  F#<0 to 15>, by the target
//	sk           S  the target: C#<counter>#<partial>, the summary's own partition
//	                key, E#<entity>#<hour or day>, or L#<board>#<period>; ?<stream
//	                shard>#<sequence number> for a record that does not say whose
//	                it is
//	reason       S  of the newest record
//	sequence     S  the newest record's sequence number, as the record has it
//	stream_shard S  the newest record's; absent when the delivery doesn't name it
//	failures     N  deliveries of records, so that one may count several times
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

// failureSalts is how many partition keys the failures are spread over.
const failureSalts = 16

// FailurePartitions returns the partition keys of all failures.
func FailurePartitions() []string { return salted(FailurePrefix, failureSalts) }

// salted returns the partition keys over which items with a prefix are spread.
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

// EventTarget names the event rollup of a bucket, hour or day, that holds t.
func EventTarget(entity string, bucket shard.Bucket, t time.Time) string {
	return BaseKey{Entity, entity}.String() + "#" + bucket.Label(t, 0)
}

// UnknownTarget stands for the target of a record that does not name it.
func UnknownTarget(streamShard, sequence string) string {
	return "?" + streamShard + "#" + sequence
}

// Target is what a record folds into.
type Target struct {
	Base    BaseKey      // a counter, an entity or a board
	Partial int          // of a counter's summary
	Period  string       // of a board, its label
	Bucket  shard.Bucket // of an entity's rollup: hour or day
	Start   time.Time    // of that bucket
}

// String is the target's name, as its failure has it.
func (t Target) String() string {
	switch t.Base.Type {
	case Counter:
		return shard.Hash.Join(t.Base.String(), t.Partial)
	case Board:
		return BoardRollupKey(t.Base.Name, t.Period)
	}
	return EventTarget(t.Base.Name, t.Bucket, t.Start)
}

// ParseTarget is the inverse of String. It takes the last
// separator, since names may contain it.
func ParseTarget(target string) (Target, error) {
	fault := func(why string) error { return &shard.KeyError{Key: target, Reason: why} }
	base, err := ParseBaseKey(target)
	at := strings.LastIndexByte(base.Name, '#')
	if err != nil || at < 0 {
		return Target{}, fault("it is not a target of folds")
	}
	t := Target{Base: BaseKey{base.Type, base.Name[:at]}}
	rest := base.Name[at+1:]
	switch base.Type {
	case Counter:
		if t.Partial, err = strconv.Atoi(rest); err != nil || t.Partial < 0 {
			return Target{}, fault("it does not end with a partial's number")
		}
		return t, nil
	case Entity:
		for _, t.Bucket = range []shard.Bucket{shard.Hour, shard.Day} {
			if t.Start, err = t.Bucket.Start(rest, 0); err == nil {
				return t, nil
			}
		}
	case Board:
		if t.Period = rest; isPeriod(rest) {
			return t, nil
		}
	}
	return Target{}, fault("it is not a target of folds")
}
