package hotkey

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/topk"
)

// tally files the records of a batch under the windows in which they were made.
// With a tumbling window that is, as a rule, always the same one, own, which goes
// from one delivery to the next. A record that was made at another time, late or
// after an outage, counts for that time, so that catching up heats nothing; such
// windows, and all windows without a tumbling one, are reported with the batch.
type tally struct {
	settings Settings
	source   Source
	own      *window // nil without a tumbling window
	others   map[int64]*window
	span     span

	writes []ddbstream.IndexWrite // room for those of a record
}

func newTally(settings Settings, source Source, own *window) *tally {
	return &tally{settings: settings, source: source, own: own, others: make(map[int64]*window)}
}

func (s Settings) limits() topk.Limits { return topk.Limits{Entries: s.TopK, Bytes: maxKeyBytes} }

// addAll counts the records that can be read. Lambda may deliver records again whose
// counts its state has already: they are passed over.
func (t *tally) addAll(records []ddbstream.Record, now time.Time) (u unreadable) {
	anywhere := "" // a record whose time is not known
	for i := range records {
		if t.own != nil && !t.own.follows(records[i].Sequence) {
			continue
		}
		err := t.add(&records[i])
		if err == nil {
			continue
		}
		if u.records++; u.first == nil {
			u.first = err
		}
		if !t.miss(&records[i]) {
			anywhere = string(records[i].Sequence)
		}
	}
	if anywhere != "" {
		t.missSomewhere(anywhere, now)
	}
	if n := len(records); n > 0 && t.own != nil && t.own.follows(records[n-1].Sequence) {
		t.own.last = string(records[n-1].Sequence)
	}
	return u
}

func (t *tally) add(rec *ddbstream.Record) error {
	if rec.Err != nil {
		return rec.Err
	}
	key, ok := rec.Keys.Key(t.source.PartitionKey)
	if !ok || len(key) == 0 {
		return fmt.Errorf("hotkey: record %.60s: its keys have no %q", rec.Sequence, t.source.PartitionKey)
	}
	if rec.Created.IsZero() {
		return fmt.Errorf("hotkey: record %.60s: %w", rec.Sequence, errNoTime)
	}
	units, err := rec.WriteUnits()
	if err != nil {
		return err
	}
	writes, err := rec.AppendIndexWrites(t.writes[:0], t.source.Indexes)
	if err != nil {
		return err
	}
	t.writes = writes
	t.span.see(rec.Created)
	t.window(rec.Created).add(key, units, writes, rec)
	return nil
}

// unreadable is what a batch has of records that can't be counted. They hold up
// nothing: a detector that waits for one record to be given up is blind for as long,
// and has no record less to miss afterwards. Their windows are incomplete, so that
// nothing is proved by them.
type unreadable struct {
	records int
	first   error
}

// miss notes a record that could not be counted in the window in which it was made.
// It is false where that is not known.
func (t *tally) miss(rec *ddbstream.Record) bool {
	if rec.Created.IsZero() {
		return false
	}
	t.window(rec.Created).miss(string(rec.Sequence))
	return true
}

// missSomewhere notes a record that may be of any window: of all that the batch has
// to do with, or of the one at its handling.
func (t *tally) missSomewhere(sequence string, now time.Time) {
	if len(t.all()) == 0 {
		t.window(now)
	}
	for _, w := range t.all() {
		w.miss(sequence)
	}
}

// all returns the windows that the batch has to do with, in order of time.
func (t *tally) all() []*window {
	list := slices.Collect(maps.Values(t.others))
	if t.own != nil {
		list = append(list, t.own)
	}
	slices.SortFunc(list, func(a, b *window) int { return a.start.Compare(b.start) })
	return list
}

var errNoTime = errors.New("it has no creation time")

// window returns the window that holds an instant. Without a tumbling window they
// are aligned with the Unix epoch, else with that one.
func (t *tally) window(at time.Time) *window {
	base, length := int64(0), t.settings.Window // milliseconds of the Unix epoch
	if t.own != nil {
		base, length = t.own.start.UnixMilli(), t.own.length
	}
	n := floorDiv(at.UnixMilli()-base, length.Milliseconds())
	if n == 0 && t.own != nil {
		return t.own
	}
	w, ok := t.others[n]
	if !ok {
		w = newWindow(time.UnixMilli(base+n*length.Milliseconds()), length, t.settings.limits())
		t.others[n] = w
	}
	return w
}

// floorDiv is a/b rounded down, also for an instant before the base.
func floorDiv(a, b int64) int64 {
	n := a / b
	if a%b < 0 {
		n--
	}
	return n
}

// done returns what there is to report, in order of time. Whole says that own has
// ended, early that it is interrupted and will go on with an empty state.
//
// An item that stands for its whole window has no part. Every other is one of
// several and is told apart by its first record, which stays the same however
// often the batch is delivered again.
func (t *tally) done(streamShard string, whole, early bool) []heat.Item {
	var items []heat.Item
	for _, w := range t.others {
		items = append(items, w.item(t.settings, streamShard, w.first))
	}
	if own := t.own; own != nil && (own.records > 0 || own.incomplete) && (whole || early) {
		part := ""
		if early {
			part = cmp.Or(own.first, "none") // none: a state was dropped, and no record came
		}
		items = append(items, own.item(t.settings, streamShard, part))
	}
	slices.SortFunc(items, func(a, b heat.Item) int { return a.Start.Compare(b.Start) })
	return items
}
