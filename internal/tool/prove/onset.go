package prove

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Onset shows at which rate one partition of a new table throttles writes of one key, and for how long it accepts more
// than its limit after a pause.
type Onset struct {
	Rungs []Rung `json:"rungs"`
	// Burst repeats the last rate after a pause.
	Burst Rung `json:"burst"`
}

// Rung is the result of one rate.
type Rung struct {
	Rate      float64 `json:"rate"` // calls per second
	Offered   int     `json:"offered"`
	Accepted  float64 `json:"accepted_per_second"` // until the last response
	Throttled float64 `json:"refused_percent"`
	Other     int     `json:"other"`           // other errors
	First     float64 `json:"first_refused_s"` // since the start of the rung; -1 for none
	// Reasons counts DynamoDB's throttling reasons, such as TableWriteKeyRangeThroughputExceeded, or else error codes.
	Reasons map[string]int `json:"reasons,omitempty"`
	Units   float64        `json:"write_units"` // consumed, as DynamoDB reports
	// Opened is the number of new connections to DynamoDB.
	Opened int64 `json:"new_connections"`
}

// onset creates a table, and writes one key at several rates in turn.
func (r *run) onset(ctx context.Context, on *running, _ *caller) error {
	table := r.record.Prefix() + "plain"
	r.say("one partition: %d rates of %v", len(r.Plan.Onset), r.Plan.Rung)
	if err := makePlain(ctx, on.db, table); err != nil {
		return fmt.Errorf("creating table %s: %w", table, err)
	}
	one := &plain{db: on.db, table: table, meter: r.meter}
	result := &Onset{}
	r.report.Onset = result
	for _, times := range r.Plan.Onset {
		rung := one.rung(ctx, times*r.Plan.PartitionWCU, r.Plan.Rung)
		result.Rungs = append(result.Rungs, rung)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if !dynamo.Pause(ctx, r.Plan.Rest) {
		return ctx.Err()
	}
	result.Burst = one.rung(ctx, r.Plan.Onset[len(r.Plan.Onset)-1]*r.Plan.PartitionWCU, r.Plan.Burst)
	return ctx.Err()
}

// plainReady is the timeout for creating the table.
const plainReady = 2 * time.Minute

func makePlain(ctx context.Context, db *dynamodb.Client, table string) error {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		return err
	}
	return dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, 5*time.Second
	}).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, plainReady)
}

// plain is a table with one key.
type plain struct {
	db    *dynamodb.Client
	table string
	meter *meter
}

// tally collects the results of a rung.
type tally struct {
	mu sync.Mutex
	Rung
	accepted, throttled int
}

// rung makes updates at a rate for a time.
func (p *plain) rung(ctx context.Context, rate float64, lasting time.Duration) Rung {
	t := &tally{Rung: Rung{Rate: rate, First: -1, Reasons: map[string]int{}}}
	begun := time.Now()
	var opened atomic.Int64
	offer(counting(ctx, &opened), rate, lasting, func(ctx context.Context, n int, after time.Duration) {
		units, err := p.update(ctx, n)
		t.addUpdate(units, err, after)
	})
	t.Accepted = float64(t.accepted) / time.Since(begun).Seconds()
	t.Throttled = 100 * float64(t.throttled) / float64(max(1, t.Offered))
	t.Opened = opened.Load()
	return t.Rung
}

// mostUnits is the most that an update of this small item consumes.
const mostUnits = 1

// update writes the key's item without a retry, and returns the consumed write units.
func (p *plain) update(ctx context.Context, n int) (float64, error) {
	done, err := p.meter.begin(Units{WriteUnits: mostUnits})
	if err != nil {
		return 0, err
	}
	out, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &p.table, Key: dynamo.Item{"pk": dynamo.String("hot")},
		UpdateExpression:          aws.String("SET n = :n"),
		ExpressionAttributeValues: dynamo.Item{":n": dynamo.Number(int64(n))},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}, dynamo.NoRetry)
	used := Units{}
	switch {
	case err == nil && out.ConsumedCapacity != nil:
		used.WriteUnits = aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	case err == nil || len(throttled(err)) == 0:
		used.WriteUnits = mostUnits // unknown
	}
	done(used)
	return used.WriteUnits, err
}

// throttled returns the reasons for which an update was throttled, or nil if it was not.
func throttled(err error) (reasons []string) {
	for _, reason := range dynamo.ThrottlingReasons(err) {
		reasons = append(reasons, aws.ToString(reason.Reason))
	}
	if fault, ok := errors.AsType[smithy.APIError](err); ok && reasons == nil && dynamo.IsThrottle(err) {
		reasons = []string{fault.ErrorCode() + " without a reason"}
	}
	return reasons
}

// addUpdate adds an update's result. after is its start, measured from the first update's.
func (t *tally) addUpdate(units float64, err error, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Offered++
	t.Units += units
	reasons := throttled(err)
	switch {
	case err == nil:
		t.accepted++
	case len(reasons) == 0:
		t.Other++
	default:
		t.throttled++
		if t.First < 0 || after.Seconds() < t.First {
			t.First = after.Seconds()
		}
		for _, reason := range reasons {
			t.Reasons[reason]++
		}
	}
}
