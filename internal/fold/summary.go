package fold

import (
	"context"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// summary has the functions that fold one form of summary.
type summary struct {
	// targetOf returns the target that an item folds into; ok is false for other items.
	targetOf func(pk, sk string) (t schema.Target, ok bool)
	// storedTarget returns the target of a summary, or of a fragment, by its key in the rollups
	// table. ok is false for other items.
	storedTarget func(pk, sk string) (t schema.Target, ok bool)
	// gather returns an empty changeSet for a delivery.
	gather func(d *delivery) changeSet
	// expires means that a summary expires with its items. So it lacks nothing if the record of an expired item can't be
	// folded.
	expires bool
	// missed is called after a failure was stored, with the target that lacks records. It may be nil.
	missed func(ctx context.Context, d *delivery, t schema.Target) error
}

var summaries = map[schema.Summary]summary{
	schema.PartialSummary: {
		targetOf: counterTarget, storedTarget: storedCounterTarget,
		gather: func(*delivery) changeSet { return counterChanges{} },
	},
	schema.RollupSummary: {
		targetOf: eventTarget, storedTarget: storedEventTarget,
		gather: func(d *delivery) changeSet { return newChangesByBucket(d.batch.ShardID) },
	},
	schema.RankingSummary: {
		targetOf: boardTarget, storedTarget: storedBoardTarget,
		gather: func(*delivery) changeSet { return changesByBoard{} }, expires: true, missed: noteMissed,
	},
}

// summaryOf returns how the summaries of a kind are folded; ok is false for a kind without summaries.
func summaryOf(k schema.Kind) (s summary, ok bool) {
	s, ok = summaries[schema.TraitsOf(k).Summary]
	return s, ok
}

// Target returns the target that an item folds into. ok is false for items that are not folded, such as an event whose key
// has another day than its time: no reader finds it.
func Target(pk, sk string) (t schema.Target, ok bool) {
	k, _, _ := schema.CutKind(pk)
	if s, ok := summaryOf(k); ok {
		return s.targetOf(pk, sk)
	}
	return t, false
}

// TargetOf returns the target of a summary, or of a fragment, by its key in the rollups table.
// ok is false for other items.
func TargetOf(pk, sk string) (t schema.Target, ok bool) {
	k, _, _ := schema.CutKind(pk)
	if s, ok := summaryOf(k); ok {
		return s.storedTarget(pk, sk)
	}
	return t, false
}

// changeSet collects the changes of a batch to the summaries of one form.
type changeSet interface {
	// addRecord adds a record, and ignores the records of other items. It returns an error for a record
	// that can never be folded.
	addRecord(r *ddbstream.Record) error
	// jobs returns the folds of all records that were added.
	jobs(d *delivery) []job
}
