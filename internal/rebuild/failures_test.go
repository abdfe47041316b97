package rebuild_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

func (r *rig) failures(t testing.TB, a *rebuild.Checker) []rebuild.Failure {
	t.Helper()
	list, err := a.Failures(t.Context())
	require.NoError(t, err)
	return list
}

// TestPoisonIsRepaired checks that records which can't be folded leave failures of their targets. After the items are
// repaired, a repair corrects the summaries and forgets the failures; of one that names no summary only a repair of all.
func TestPoisonIsRepaired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pin(t, "C#c#1", 2)
	at := hour()
	stop := r.run(t, nil)
	r.update(t, r.names.Items, "C#c#1#1", "+", "SET rev = :rev", item{":rev": num(10)}) // no value
	r.update(t, r.names.Events, "E#e#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at, "bad"), "SET #data = :d", item{":d": dynamo.String("x")})
	r.put(t, "e", at.Add(time.Minute), 3)
	r.addTo(t, "good", 1, 1)
	enginetest.Eventually(t, func() bool { return len(r.failures(t, r.checker(nil))) == 2 })
	unknownPK, unknownSK := schema.FailureKey(schema.UnknownTarget("shardId-1", "17"))
	r.update(t, r.names.Rollups, unknownPK, unknownSK, "SET last_at = :at, failures = :n", item{":at": num(5), ":n": num(1)})
	repair := func() {
		r.update(t, r.names.Items, "C#c#1#1", "+", "SET rev = :rev, #value = :rev", item{":rev": num(11)})
		r.update(t, r.names.Events, "E#e#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at, "bad"), "REMOVE #data", nil)
	}
	for _, step := range []struct {
		before             func()
		set                func(*rebuild.Options)
		all                bool
		targets, bad, left int
	}{
		{nil, repairing, false, 2, 2, 3},
		{nil, repairing, true, 3, 2, 3},
		{repair, nil, true, 3, 1, 3}, // a dry run forgets nothing; the hour lacks an event
		{nil, repairing, false, 2, 0, 1},
		{nil, nil, true, 3, 0, 1},
		{nil, repairing, true, 3, 0, 0},
	} {
		if step.before != nil {
			step.before()
		}
		a := r.checker(step.set)
		work := rebuild.Work{Failures: r.failures(t, a), All: step.all}
		if step.all {
			work.Rest = a.All(rebuild.Range{})
		}
		var order []schema.Target
		report, err := a.Do(t.Context(), work, func(target schema.Target, _ rebuild.Result) { order = append(order, target) })
		if err != nil || report.Targets != step.targets || report.Bad() != step.bad || len(report.Left) != step.left || len(order) != step.targets {
			t.Fatalf("step %+v: %+v, %v", step, report, err)
		}
	}
	stop()
}

// TestGivenUpRecordsNameTheirTargets reads batches that a mapping gave up, in each form of the file.
func TestGivenUpRecordsNameTheirTargets(t *testing.T) {
	r := &rig{rules: rules(t, `[{"every":"1h"},{"prefix":"none/","every":"1d"}]`)}
	a := rebuild.New(rebuild.Options{Names: schema.NamesFor("")}, nil)
	if _, err := a.ReadGivenUp(strings.NewReader(`{"version":"1.0"}`)); err == nil || !strings.Contains(err.Error(), "document 1: it has no payload") {
		t.Errorf("without records: %v", err)
	}
	a = rebuild.New(rebuild.Options{Names: schema.NamesFor(""), Rules: r.rules}, nil)
	record := func(pk, sk string) string {
		return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"pk":{"S":%q},"sk":{"S":%q}}}}`, pk, sk)
	}
	event := `{"Records":[` + strings.Join([]string{
		record("C#a#b#3", "+"), record("C#a#b#4", "+"), record("E#e#2026-01-05#0", "2026-01-05T13:20:00.000Z#id"),
		record("E#e#2026-01-05#1", "2026-01-05T13:40:00.000Z#id"), record("H#C#a", "x"), `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1"}}`,
	}, ",") + `]}`
	quoted, err := json.Marshal(event)
	require.NoError(t, err)
	line, err := json.Marshal(eventsource.Failure{Payload: json.RawMessage(event)})
	require.NoError(t, err)
	for name, file := range map[string]string{
		"lines of a failure file":   string(line) + "\n" + string(line) + "\n",
		"Lambda's document":         "{\n\"payload\": " + string(quoted) + "\n}",
		"a document with the event": `{"payload":` + event + `}`,
	} {
		got, err := a.ReadGivenUp(strings.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		documents := strings.Count(file, "payload")
		if len(got.Targets) != 2 || got.Targets[0] != counterTarget("a#b") || nameOf(got.Targets[1]) != "E#e#2026-01-05T13" || got.Records != 6*documents || got.Unknown != documents {
			t.Errorf("%s: %+v, want a counter and an hour of %d records, %d unknown", name, got, 6*documents, documents)
		}
	}
	for _, bad := range []string{"{", `{"payload":"x"}`, `{"payload":{"Records":1}}`, string(line) + "x"} {
		if got, err := a.ReadGivenUp(strings.NewReader(bad)); err == nil || !strings.HasPrefix(err.Error(), "document ") {
			t.Errorf("%.20s: %+v, %v", bad, got, err)
		}
	}
}
