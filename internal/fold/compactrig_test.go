package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// compactRig is a table and its compactor. The rig's clock is far ahead of the engine's, which deletes expired
// items.
type compactRig struct {
	*compactor
	db    *dynamodb.Client
	names schema.Names
	clock time.Time
	logs  strings.Builder
	on    hooks
}

// hooks are called before the calls with these names. A hook's error is the call's.
type hooks struct {
	scan, query, transact, write func() error
	get                          func(table, pk string) error
}

// before calls the hook of a call.
func (h *hooks) before(in any) error {
	var hook func() error
	switch in := in.(type) {
	case *dynamodb.ScanInput:
		hook = h.scan
	case *dynamodb.QueryInput:
		hook = h.query
	case *dynamodb.TransactWriteItemsInput:
		hook = h.transact
	case *dynamodb.UpdateItemInput, *dynamodb.DeleteItemInput:
		hook = h.write
	case *dynamodb.GetItemInput:
		if h.get != nil {
			return h.get(*in.TableName, dynamo.Text(in.Key, "pk"))
		}
	}
	if hook == nil {
		return nil
	}
	return hook()
}

var errOutOfOrder = errors.New("out of order")

func outOfOrder() error { return errOutOfOrder }

func newCompactRig(t *testing.T, change func(*compactor)) *compactRig {
	t.Helper()
	db := enginetest.Client(t)
	r := &compactRig{db: db, names: enginetest.Tables(t, db), clock: hour.Add(100 * 24 * time.Hour)}
	log := slog.New(slog.NewTextHandler(&r.logs, nil))
	settings := Settings{RollupsTable: r.names.Rollups, ItemsTable: r.names.Items}
	r.compactor = newCompactor(enginetest.Before(db, r.on.before), settings, log, func() time.Time { return r.clock })
	r.writeUnits = 1_000_000
	if change != nil {
		change(r.compactor)
	}
	return r
}

var (
	hour     = enginetest.Later
	sequence = fmt.Sprintf("%040d", 7) // of each fragment
)

// ago returns a time before the rig's clock.
func (r *compactRig) ago(d time.Duration) time.Time { return r.clock.Add(-d) }

// must runs the task and returns its answer.
func (r *compactRig) must(t rapid.TB) compactAnswer {
	t.Helper()
	answer, err := r.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// want runs the task and compares its answer.
func (r *compactRig) want(t rapid.TB, want compactAnswer) {
	t.Helper()
	if got := r.must(t); got != want {
		t.Fatalf("the task answered %+v, want %+v; logs: %s", got, want, &r.logs)
	}
}

func bucketAt(entity string, at time.Time) parts.Bucket {
	return parts.Bucket{Entity: entity, Start: at.Truncate(time.Hour)}
}

// fragment stores a stream shard's fragment with this number of events. A zero asOf is not stored.
func (r *compactRig) fragment(t rapid.TB, b parts.Bucket, streamShard string, events int64, asOf time.Time) {
	t.Helper()
	r.store(t, b, streamShard, parts.Rollup{Events: events}, asOf)
}

// store stores a fragment. A zero asOf is not stored.
func (r *compactRig) store(t rapid.TB, b parts.Bucket, streamShard string, p parts.Rollup, asOf time.Time) {
	t.Helper()
	pk, sk := schema.RollupKey(b.Entity, b.Start, streamShard)
	stored := p.Attributes()
	maps.Copy(stored, dynamo.Key(pk, sk))
	stored["seq"] = dynamo.String(sequence)
	if p.Events == 0 {
		stored["seq"] = dynamo.String(sequence + schema.EmptiedSuffix)
	}
	if !asOf.IsZero() {
		stored["as_of"] = dynamo.Number(asOf.UnixMilli())
	}
	r.put(t, r.names.Rollups, stored)
}

func (r *compactRig) put(t rapid.TB, table string, stored item) {
	t.Helper()
	enginetest.Put(t, r.db, table, stored)
}

// holding returns the number of events in each fragment that was not emptied, by stream shard.
func (r *compactRig) holding(t rapid.TB, b parts.Bucket) map[string]int64 {
	t.Helper()
	list, err := r.events.Read(context.Background(), b.Key())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, p := range list {
		if !p.Emptied() {
			found[p.StreamShard] = p.Value.Events
		}
	}
	return found
}

// summary stores a partial of a counter's summary with these attributes.
func (r *compactRig) summary(t rapid.TB, pk string, numbers map[string]int64) {
	t.Helper()
	stored := dynamo.Key(pk, "-")
	stored["v"] = dynamo.Number(1)
	for name, n := range numbers {
		stored[name] = dynamo.Number(n)
	}
	r.put(t, r.names.Rollups, stored)
}

// attributes returns the revs, values and time of removal of a partial; nil if there is no partial.
func (r *compactRig) attributes(t rapid.TB, pk string) map[string]string {
	t.Helper()
	var found map[string]string
	it := enginetest.Get(t, r.db, r.names.Rollups, pk, "-")
	for name := range it {
		if strings.HasPrefix(name, "r") || strings.HasPrefix(name, "x") || name == "gone" {
			if found == nil {
				found = map[string]string{}
			}
			found[name] = dynamo.Digits(it, name)
		}
	}
	return found
}

// set changes a stored partial.
func (r *compactRig) set(t rapid.TB, pk, expression string, values item) {
	t.Helper()
	enginetest.Update(t, r.db, r.names.Rollups, pk, "-", expression, values)
}
