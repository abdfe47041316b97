package audit

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// state is the rev and value of a write shard, or of a write shard in a summary. Its numbers are
// never changed.
type state struct{ rev, value *big.Int }

// source is a write shard of a counter with both of its states, which are nil if absent. The
// summary is read first, so it is newer than the item only if its rev is higher.
type source struct {
	n             int
	summary, item *state
	fault         error // why one of the states can't be read
}

// judge returns what is wrong with a source, or "". Write shard 0 is never folded, so a summary of
// it is wrong.
func (s source) judge() State {
	switch {
	case s.fault != nil:
		return Unreadable
	case s.n == 0 && s.summary != nil:
		return Wrong
	case s.n == 0:
		return ""
	case s.item == nil:
		if s.summary == nil || s.summary.value.Sign() == 0 {
			return ""
		}
		return Removed
	case s.summary == nil || s.summary.rev.Cmp(s.item.rev) < 0:
		return Stale
	case s.summary.rev.Cmp(s.item.rev) > 0:
		return Ahead
	case s.summary.value.Cmp(s.item.value) != 0:
		return Wrong
	}
	return ""
}

// counters audits counters, write shard by write shard.
type counters struct{ *tools }

// check audits a counter on the write shards of the shard map, and on others that the summary has.
func (c *counters) check(ctx context.Context, t schema.Target) (Result, error) {
	most, err := c.mostShards(ctx, t.Base)
	if err != nil {
		return notRead(err)
	}
	result, _, err := c.on(ctx, t.Base.Name, most)
	return result, err
}

// targets returns the whole counter: it has no time.
func (c *counters) targets(name string, _ Range) ([]schema.Target, error) {
	return []schema.Target{{Base: schema.BaseKey{Type: kind.Counter, Name: name}}}, nil
}

// Counter audits a counter, as Check does, on every write shard that can exist, whatever the shard
// map has. It also returns how many write shards existed at the last reading.
func (a *Auditor) Counter(ctx context.Context, name string) (r Result, there int, err error) {
	r, there, err = a.counters.on(ctx, name, shard.MaxShards)
	r.describe(schema.Target{Base: schema.BaseKey{Type: kind.Counter, Name: name}})
	return r, there, err
}

// on audits a counter on most write shards. It starts over, with what is left, if a concurrent
// change prevented a repair.
func (c *counters) on(ctx context.Context, name string, most int) (all Result, there int, err error) {
	for round := range maxRounds {
		if round > 0 {
			if err := c.pause(ctx); err != nil {
				return all, there, err
			}
		}
		sources, err := c.readSources(ctx, name, most)
		if err != nil {
			return all, there, err
		}
		there = len(slices.DeleteFunc(slices.Clone(sources), func(s source) bool { return s.item == nil }))
		result, again, err := c.once(ctx, name, sources)
		all.Findings = append(all.Findings, result.Findings...)
		if err != nil || !again {
			return all, there, err
		}
	}
	all.Findings = append(all.Findings, finding(Busy, fmt.Sprintf("it changed during each of %d repairs: audit it again", maxRounds)).Findings...)
	return all, there, nil
}

func (c *counters) once(ctx context.Context, name string, sources []source) (result Result, again bool, err error) {
	if !c.o.Eager {
		if sources, err = c.await(ctx, name, sources); err != nil {
			return Result{}, false, err
		}
	}
	for _, s := range sources {
		if state := s.judge(); state != "" {
			result.Findings = append(result.Findings, s.finding(state))
		}
	}
	if c.o.Repair {
		again, err = c.repair(ctx, name, sources, result.Findings)
	}
	if again { // unrepaired sources are judged in the next round
		result.Findings = slices.DeleteFunc(result.Findings, func(f Finding) bool { return !f.Repaired })
	}
	return result, again, err
}

func (s source) finding(state State) Finding {
	if s.fault != nil {
		return Finding{WriteShard: &s.n, State: state, Detail: s.fault.Error()}
	}
	f := Finding{WriteShard: &s.n, State: state, Summary: figuresOf(s.summary), Items: figuresOf(s.item)}
	if s.n == 0 {
		f.Detail = "write shard 0 is never folded"
	}
	return f
}

// readSources reads the partials of a summary and then the write shards: the first most, and others
// that the summary has.
func (c *counters) readSources(ctx context.Context, name string, most int) ([]source, error) {
	sources := make([]source, most)
	for n := range sources {
		sources[n].n = n
	}
	partials, err := c.readPartials(ctx, name, sources)
	if err != nil {
		return nil, err
	}
	for _, it := range partials {
		for _, n := range schema.SourcesOf(it) {
			if n >= most {
				sources = append(sources, source{n: n})
			}
		}
	}
	slices.SortFunc(sources, func(x, y source) int { return x.n - y.n })
	sources = slices.CompactFunc(sources, func(x, y source) bool { return x.n == y.n })
	for i := range sources {
		sources[i].setSummary(name, partials)
	}
	return sources, c.readItems(ctx, name, sources)
}

// readPartials returns the partials of these sources by partition key.
func (c *counters) readPartials(ctx context.Context, name string, sources []source) (map[string]item, error) {
	return c.read(ctx, c.o.Names.Rollups, sources, func(n int) (pk, sk string) { return schema.SummaryKey(name, n), schema.SoleSK })
}

// read returns the items of these sources by partition key. Its consistent reads run one batch
// after the other.
func (c *counters) read(ctx context.Context, table string, sources []source, keyOf func(n int) (pk, sk string)) (map[string]item, error) {
	keys := map[string]item{}
	for _, s := range sources {
		pk, sk := keyOf(s.n)
		keys[pk] = dynamo.Key(pk, sk)
	}
	found := map[string]item{}
	for chunk := range slices.Chunk(slices.Collect(maps.Values(keys)), dynamo.MaxBatchGet) {
		list, err := dynamo.BatchGet(ctx, c.client, table, chunk, true)
		if err != nil {
			return nil, fmt.Errorf("reading %d items of %s: %w", len(keys), table, err)
		}
		for _, it := range list {
			found[dynamo.Text(it, schema.PK)] = it
		}
	}
	return found, nil
}

// setSummary sets the state that the summary has of a source.
func (s *source) setSummary(name string, partials map[string]item) {
	pk := schema.SummaryKey(name, s.n)
	it := partials[pk]
	rev, value := schema.RevAttr(s.n), schema.ValueAttr(s.n)
	if it[rev] == nil && it[value] == nil {
		s.summary = nil
		return
	}
	s.summary = s.read(it, rev, value, "the summary "+pk)
}

// readItems sets the states that the write shards have.
func (c *counters) readItems(ctx context.Context, name string, sources []source) error {
	items, err := c.read(ctx, c.o.Names.Items, sources, func(n int) (pk, sk string) { return schema.CounterKey(name, n) })
	if err != nil {
		return err
	}
	for i := range sources {
		s := &sources[i]
		s.item = nil
		pk, _ := schema.CounterKey(name, s.n)
		if it := items[pk]; it != nil {
			s.readItem(it, pk)
		}
	}
	return nil
}

// readItem sets the state that the write shard has.
func (s *source) readItem(it item, pk string) {
	s.item = s.read(it, "rev", "value", "the item "+pk)
	if _, err := dynamo.Largest(it, schema.Counts); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("the item %s: %w", pk, err)
	}
}

// read returns the rev and value of an item. If it can't, it returns nil and sets the fault.
func (s *source) read(it item, revName, valueName, what string) *state {
	rev, err := whole(it, revName)
	if err == nil {
		var value *big.Int
		if value, err = whole(it, valueName); err == nil {
			return &state{rev, value}
		}
	}
	if s.fault == nil {
		s.fault = fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func whole(it item, name string) (*big.Int, error) {
	value, ok := new(big.Int).SetString(dynamo.Digits(it, name), 10)
	switch {
	case it[name] == nil:
		return nil, fmt.Errorf("it has no %s", name)
	case !ok:
		return nil, fmt.Errorf("its %s is not a whole number", name)
	}
	return value, nil
}

// change replaces the state that a summary has of a write shard. That of write shard 0 is removed.
type change struct {
	n    int
	was  *state // nil if the summary has none
	now  state  // not used for write shard 0
	gone bool   // the write shard's item is gone
}

// repair writes the right states of the sources that can be repaired, in one update for each
// partial, and marks their findings. It reports again if something had changed since it was read.
func (c *counters) repair(ctx context.Context, name string, sources []source, findings []Finding) (again bool, err error) {
	byPartial := map[string][]change{}
	for _, s := range sources {
		m, moved, err := c.changeOf(ctx, name, s)
		if err != nil {
			return false, err
		}
		if again = again || moved; m != nil {
			pk := schema.SummaryKey(name, s.n)
			byPartial[pk] = append(byPartial[pk], *m)
		}
	}
	for pk, list := range byPartial {
		moved, err := c.update(ctx, c.repairOf(pk, list))
		if err != nil {
			return false, fmt.Errorf("repairing %q: %w", pk, err)
		}
		if moved {
			again = true
			continue
		}
		for i, f := range findings {
			if slices.ContainsFunc(list, func(c change) bool { return c.n == *f.WriteShard }) {
				findings[i].Repaired = true
			}
		}
	}
	return again, nil
}

var one = big.NewInt(1)

// changeOf returns the change that the summary needs for a source, or nil if it needs none or none
// is safe. If the item is behind its summary, changeOf first raises the item's rev above it, so
// that later writes are folded. It reports moved if the item had changed.
func (c *counters) changeOf(ctx context.Context, name string, s source) (m *change, moved bool, err error) {
	switch found := s.judge(); {
	case s.n == 0 && found == Wrong:
		return &change{n: 0, was: s.summary}, false, nil
	case found == Stale, found == Wrong:
		return &change{n: s.n, was: s.summary, now: *s.item}, false, nil
	case found == Removed:
		return &change{s.n, s.summary, state{new(big.Int).Add(s.summary.rev, one), new(big.Int)}, true}, false, nil
	case found == Ahead:
		above := new(big.Int).Add(s.summary.rev, one)
		if moved, err = c.raise(ctx, name, s, above); moved || err != nil {
			return nil, moved, err
		}
		return &change{n: s.n, was: s.summary, now: state{above, s.item.value}}, false, nil
	}
	return nil, false, nil
}

// raise sets the rev of a write shard, if it still has the rev that was read. It reports moved
// otherwise.
func (c *counters) raise(ctx context.Context, name string, s source, to *big.Int) (moved bool, err error) {
	pk, sk := schema.CounterKey(name, s.n)
	moved, err = c.update(ctx, &dynamodb.UpdateItemInput{
		TableName: &c.o.Names.Items, Key: dynamo.Key(pk, sk),
		UpdateExpression:          aws.String("SET rev = :rev"),
		ConditionExpression:       aws.String("rev = :was"),
		ExpressionAttributeValues: item{":rev": number(to), ":was": number(s.item.rev)},
	})
	if err != nil {
		return false, fmt.Errorf("raising the rev of %q: %w", pk, err)
	}
	return moved, nil
}

// repairOf returns the update that gives a partial its new states, if it still has the old ones.
func (c *counters) repairOf(pk string, list []change) *dynamodb.UpdateItemInput {
	sets := []string{"v = :v", schema.AsOf + " = :at"}
	var removes string
	var conditions []string
	values := item{
		":v":  dynamo.Decimal(schema.SummaryVersion),
		":at": dynamo.Number(c.o.Now().UnixMilli()),
	}
	if slices.ContainsFunc(list, func(c change) bool { return c.gone }) {
		sets = append(sets, schema.Gone+" = :at")
	}
	for _, m := range list {
		rev, value := schema.RevAttr(m.n), schema.ValueAttr(m.n)
		if m.n == 0 {
			removes = " REMOVE " + rev + ", " + value
		} else {
			sets = append(sets, rev+" = :"+rev, value+" = :"+value)
			values[":"+rev], values[":"+value] = number(m.now.rev), number(m.now.value)
		}
		if m.was == nil {
			conditions = append(conditions, "attribute_not_exists("+rev+")")
			continue
		}
		conditions = append(conditions, rev+" = :p"+rev, value+" = :p"+value)
		values[":p"+rev], values[":p"+value] = number(m.was.rev), number(m.was.value)
	}
	return &dynamodb.UpdateItemInput{
		TableName: &c.o.Names.Rollups, Key: dynamo.Key(pk, schema.SoleSK),
		UpdateExpression:          aws.String("SET " + strings.Join(sets, ", ") + removes),
		ConditionExpression:       aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues: values,
	}
}

func number(n *big.Int) types.AttributeValue {
	return dynamo.Decimal(n.String())
}

// await waits for folds that may be in flight, and returns the sources that are still wrong.
//
// A fold that brings a summary to an awaited rev, or beyond, writes rev and value together. Such a
// source is right, as far as the two can be compared.
func (c *counters) await(ctx context.Context, name string, sources []source) (wrong []source, err error) {
	var left []source // a fold in flight may make these right
	for _, s := range sources {
		switch s.judge() {
		case "":
		case Stale, Removed:
			left = append(left, s)
		default:
			wrong = append(wrong, s)
		}
	}
	for deadline := c.o.Now().Add(c.o.Wait); len(left) > 0 && c.o.Now().Before(deadline); {
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
		if left, err = c.recheck(ctx, name, left); err != nil {
			return nil, err
		}
	}
	// The write shards may have been written since.
	if err := c.readItems(ctx, name, left); err != nil {
		return nil, err
	}
	return append(wrong, left...), nil
}

// recheck reads the summary's states of the sources again, and returns the sources that are still
// behind or wrong.
func (c *counters) recheck(ctx context.Context, name string, sources []source) ([]source, error) {
	partials, err := c.readPartials(ctx, name, sources)
	if err != nil {
		return nil, err
	}
	var left, removed []source
	for _, s := range sources {
		s.setSummary(name, partials)
		switch {
		case s.item == nil && s.fault == nil:
			removed = append(removed, s)
		case s.judge() == Ahead: // the fold arrived: the summary is past the item as it was read
		case s.judge() != "":
			left = append(left, s)
		}
	}
	// A removed write shard may exist again.
	if err := c.readItems(ctx, name, removed); err != nil {
		return nil, err
	}
	removed = slices.DeleteFunc(removed, func(s source) bool { return s.judge() == "" })
	return append(left, removed...), nil
}
