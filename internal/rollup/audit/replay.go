package audit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// Failure is a target that lacks records, as the aggregator has noted it.
type Failure struct {
	Text    string        `json:"target"`  // as stored
	Target  schema.Target `json:"-"`       // the zero Target if Known is false
	Known   bool          `json:"known"`   // whether the target could be told
	Reason  string        `json:"reason"`  // of the newest record
	Records int64         `json:"records"` // deliveries of records
	Last    time.Time     `json:"last_at"`

	pk, last, count string // as stored
}

// Failures lists the failures that are noted.
func (a *Auditor) Failures(ctx context.Context) ([]Failure, error) {
	var list []Failure
	for _, pk := range schema.FailurePartitions() {
		in := &dynamodb.QueryInput{
			TableName: &a.o.Names.Rollups, ConsistentRead: aws.Bool(true),
			KeyConditionExpression:    aws.String("pk = :pk"),
			ExpressionAttributeValues: item{":pk": dynamo.String(pk)},
		}
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
	f := Failure{pk: dynamo.Text(it, schema.PK), Text: dynamo.Text(it, schema.SK), Reason: dynamo.Text(it, schema.FailureReason), last: dynamo.Digits(it, schema.FailureLast), count: dynamo.Digits(it, schema.FailureCount)}
	f.Records, _ = strconv.ParseInt(f.count, 10, 64)
	if ms, err := strconv.ParseInt(f.last, 10, 64); err == nil {
		f.Last = time.UnixMilli(ms).UTC()
	}
	t, err := schema.ParseTarget(f.Text)
	f.Target, f.Known = t, err == nil
	if t.Base.Type == schema.Counter {
		f.Target.Partial = 0 // the whole counter is audited
	}
	return f
}

// Forget deletes a failure, unless there were more records since it was read; then
// it is false.
func (a *Auditor) Forget(ctx context.Context, f Failure) (bool, error) {
	values := item{}
	unchanged := func(name, value string) string {
		if value == "" {
			return "attribute_not_exists(" + name + ")"
		}
		values[":"+name] = dynamo.Decimal(value)
		return name + " = :" + name
	}
	condition := fmt.Sprintf("attribute_not_exists(pk) OR (%s AND %s)", unchanged(schema.FailureLast, f.last), unchanged(schema.FailureCount, f.count))
	input := &dynamodb.DeleteItemInput{TableName: &a.o.Names.Rollups, Key: dynamo.Key(f.pk, f.Text), ConditionExpression: &condition}
	if len(values) > 0 {
		input.ExpressionAttributeValues = values
	}
	_, err := a.client.DeleteItem(ctx, input)
	if _, newer := dynamo.ConditionFailed(err); newer {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("deleting the failure of %q: %w", f.Text, err)
	}
	return true, nil
}

// Replay audits the targets of failures, and others, and forgets those failures
// whose targets are right then. It needs an Auditor that repairs, and calls each as
// Run does. The failures that are left are those of which that could not be said.
func (a *Auditor) Replay(ctx context.Context, failures []Failure, others []schema.Target, each func(schema.Target, Result)) (report *Report, left []Failure, err error) {
	right := map[schema.Target]bool{}
	var targets []schema.Target
	add := func(t schema.Target) {
		if _, again := right[t]; !again {
			right[t] = false
			targets = append(targets, t)
		}
	}
	for _, f := range failures {
		if f.Known {
			add(f.Target)
		}
	}
	for _, t := range others {
		add(t)
	}
	report, err = a.Run(ctx, List(targets...), func(t schema.Target, r Result) {
		right[t] = r.Right()
		if each != nil {
			each(t, r)
		}
	})
	left = []Failure{}
	for _, f := range failures {
		forgotten := false
		if err == nil && f.Known && right[f.Target] {
			forgotten, err = a.Forget(ctx, f)
		}
		if !forgotten {
			left = append(left, f)
		}
	}
	return report, left, err
}
