package rebuild

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Failure is a target that lacks records, as the aggregator stored it.
type Failure struct {
	Text    string        `json:"target"`  // as stored
	Target  schema.Target `json:"-"`       // the zero Target if Known is false
	Known   bool          `json:"known"`   // whether Text could be parsed
	Reason  string        `json:"reason"`  // of the newest record
	Records int64         `json:"records"` // deliveries of records
	Last    time.Time     `json:"last_at"`

	stored item // the attributes that Forget's condition compares
}

// Failures returns all stored failures.
func (a *Checker) Failures(ctx context.Context) ([]Failure, error) {
	return a.readFailures(ctx, "", nil)
}

// FailuresOf returns the stored failures of a key's summaries.
func (a *Checker) FailuresOf(ctx context.Context, base schema.BaseKey) ([]Failure, error) {
	list, err := a.readFailures(ctx, " AND begins_with(sk, :sk)", item{":sk": dynamo.String(base.String() + "#")})
	return slices.DeleteFunc(list, func(f Failure) bool { return !f.Known || f.Target.Base != base }), err
}

// readFailures returns the failures that match a condition of the sort key, such as " AND sk = :sk", with its values. "" is
// no condition.
func (a *Checker) readFailures(ctx context.Context, skCondition string, values item) ([]Failure, error) {
	var list []Failure
	for _, pk := range schema.FailurePartitions() {
		in := &dynamodb.QueryInput{
			TableName: &a.o.Names.Rollups, ConsistentRead: aws.Bool(true),
			KeyConditionExpression:    aws.String("pk = :pk" + skCondition),
			ExpressionAttributeValues: item{":pk": dynamo.String(pk)},
		}
		maps.Copy(in.ExpressionAttributeValues, values)
		for it, err := range dynamo.Items(ctx, a.client, in) {
			if err != nil {
				return nil, fmt.Errorf("reading the failures %q: %w", pk, err)
			}
			list = append(list, failureOf(it))
		}
	}
	return list, nil
}

func failureOf(it item) Failure {
	f := Failure{
		Text: dynamo.Text(it, schema.SK), Reason: dynamo.Text(it, schema.FailureReason),
		stored: item{schema.FailureLast: it[schema.FailureLast], schema.FailureCount: it[schema.FailureCount]},
	}
	f.Records, _ = dynamo.Whole(it, schema.FailureCount)
	last, known := dynamo.Millis(it, schema.FailureLast)
	if known {
		f.Last = last
	}
	t, err := schema.ParseTarget(f.Text)
	f.Target, f.Known = t, err == nil
	f.Target.Partial = 0 // the whole counter is checked
	return f
}

// Forget deletes a failure. It keeps a failure to which the aggregator has added records since it was read: deleted is
// then false. It is true if the failure was gone already.
func (a *Checker) Forget(ctx context.Context, failure Failure) (deleted bool, err error) {
	unchanged, names, values := dynamo.UnchangedCondition(failure.stored, schema.FailureLast, schema.FailureCount)
	_, err = a.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &a.o.Names.Rollups, Key: dynamo.Key(schema.FailureKey(failure.Text)),
		ConditionExpression:      aws.String("attribute_not_exists(pk) OR (" + *unchanged + ")"),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if _, newer := dynamo.ConditionFailed(err); newer {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("deleting the failure of %q: %w", failure.Text, err)
	}
	return true, nil
}

// Work is what a run checks: first the targets of Failures, and then those of Rest. Each target is checked once.
type Work struct {
	Failures []Failure
	Rest     Source // may be nil
	All      bool   // Rest has all summaries
}

// source returns the source of all targets. It adds the targets of Failures to failed.
func (w Work) source(failed map[schema.Target]bool) Source {
	var list []schema.Target
	for _, f := range w.Failures {
		if f.Known && !failed[f.Target] {
			failed[f.Target] = true
			list = append(list, f.Target)
		}
	}
	return func(ctx context.Context, emit func(schema.Target) error) error {
		if err := List(list...)(ctx, emit); err != nil || w.Rest == nil {
			return err
		}
		return w.Rest(ctx, func(t schema.Target) error {
			if failed[t] {
				return nil
			}
			return emit(t)
		})
	}
}

// Do checks work as Run does. With Options.Repair it then forgets the failures of targets that are right. The report has
// the failures that are left.
//
// If Work.All is set and each summary is right or too old after the run, Do also forgets failures whose target is
// unknown or too old. The run has compared the items of their records.
func (a *Checker) Do(ctx context.Context, work Work, each func(schema.Target, Result)) (*Report, error) {
	results := map[schema.Target]Result{} // of the failed targets
	failed := map[schema.Target]bool{}
	report, err := a.Run(ctx, work.source(failed), func(t schema.Target, r Result) {
		if failed[t] {
			results[t] = r
		}
		if each != nil {
			each(t, r)
		}
	})
	report.Failures = len(work.Failures)
	clean := err == nil && work.All && report.Bad()+report.Open == 0
	for _, f := range work.Failures {
		r, checked := results[f.Target]
		isRight := f.Known && checked && r.Right()
		isUncheckable := !f.Known || r.TooOld()
		obsolete := isRight || clean && isUncheckable
		if err == nil && a.o.Repair && obsolete {
			var forgotten bool
			if forgotten, err = a.Forget(ctx, f); forgotten {
				report.Forgotten++
				continue
			}
		}
		report.Left = append(report.Left, f)
	}
	return report, err
}
