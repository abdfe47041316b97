package ddb

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestFirstGap: a gap is a change that was not there yet, unless the log has let go
// of it, or has lost it.
func TestFirstGap(t *testing.T) {
	type run struct{ from, to int64 }
	for name, c := range map[string]struct {
		seen  []run
		later []run // what the log has at the scan's end, and the scan did not see
		want  int64
	}{
		"nothing":                       {nil, nil, 1},
		"all":                           {[]run{{1, 7}}, nil, 8},
		"one came meanwhile":            {[]run{{1, 7}, {9, 20}}, []run{{8, 8}}, 8},
		"the very first came meanwhile": {[]run{{2, 2}}, []run{{1, 1}}, 1},
		"the first came meanwhile":      {[]run{{3, 3}, {5, 6}}, []run{{1, 2}, {4, 4}}, 1},
		"the first are lost":            {[]run{{500, 600}}, nil, 601},
		"lost, and others came":         {[]run{{500, 600}, {602, 602}}, []run{{601, 601}}, 601},
		"kept ones":                     {[]run{{3001, 13000}}, nil, 13001},
		"kept ones, half of them lost":  {[]run{{10000, 13000}}, nil, 13001},
		"some went meanwhile":           {[]run{{3, 3}, {6, 6}, {9, 10008}}, nil, 10009},
		"some went, and others came":    {[]run{{3, 3}, {9, 10000}, {10002, 10008}}, []run{{10001, 10001}}, 10001},
		"a strange one, long gone by":   {[]run{{7, 7}, {20001, 30000}}, nil, 30001},
		"the log is young, all is new":  {[]run{{1, 1}}, nil, 2},
	} {
		f := &fakeMap{items: map[string]item{}}
		l := newLoad(MaxKeys, farFuture)
		for _, r := range c.seen {
			for n := r.from; n <= r.to; n++ {
				l.note(n, item{"pk": logKey(n)["pk"]})
			}
		}
		for _, r := range c.later {
			for n := r.from; n <= r.to; n++ {
				f.change(n, "C#a", 2)
			}
		}
		err := NewMap(f, "m").place(t.Context(), l)
		if got := l.view.seq + 1; err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, c.want)
		}
	}
}

// TestTheFirstChangesDuringALoad of a map that had none: the scan has passed the place
// of the first, and of its key, and sees the second.
func TestTheFirstChangesDuringALoad(t *testing.T) {
	f := &fakeMap{page: 1, items: map[string]item{}}
	for _, pk := range []string{"C#b", "log#1~", "zz"} {
		f.items[pk] = item{"pk": &types.AttributeValueMemberS{Value: pk}}
	}
	f.down = func() error {
		if f.pages() == 2 {
			f.change(1, "C#a", 16)
			f.change(2, "C#b", 4)
		}
		return nil
	}
	m := NewMap(f, "m")
	for key, want := range map[string]int{"C#a": 16, "C#b": 4} {
		if e, err := m.Lookup(t.Context(), key, farFuture); err != nil || e.History.Newest() != want {
			t.Errorf("%s: %d write shards, %v; want %d", key, e.History.Newest(), err, want)
		}
	}
}

// TestALogWithoutItsBegin, which somebody has deleted, is followed from what is left.
func TestALogWithoutItsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		for n := range int64(50) {
			delete(f.items, text(logKey(n+1), "pk"))
		}
		m := NewMap(f, "m")
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Fatal(err)
		}
		f.change(201, "C#k1", 40)
		pages := f.pages()
		time.Sleep(ViewAge + time.Second)
		e, err := m.Lookup(t.Context(), "C#k1", time.Now())
		if err != nil || e.History.Newest() != 40 || f.pages() != pages {
			t.Errorf("%d write shards, %v; the table was read in %d pages, and %d more", e.History.Newest(), err, pages, f.pages()-pages)
		}
	})
}

// TestStrangeLogItems: one that another program wrote, however it is numbered, does
// not count as the log's newest.
func TestStrangeLogItems(t *testing.T) {
	f := manyPages()
	for _, pk := range []string{"log#web", "log#", "log#-4", "log#007", "log#999999", "log#99999999999999999999"} {
		f.items[pk] = item{"pk": &types.AttributeValueMemberS{Value: pk}, attrCount: number(4)}
	}
	f.takes, f.trips = 0, 0
	m := NewMap(f, "m")
	entry, err := m.Lookup(t.Context(), "C#k3", farFuture)
	if err != nil || entry.History.Newest() != 16 || m.current().last() != 200 {
		t.Errorf("%+v, %v, at change %d", entry, err, m.current().last())
	}
}

// TestHint: it is a stored form.
func TestHint(t *testing.T) {
	for key, want := range map[string]int64{"C#page/home": 37562, "E#sensor-1": 6734, "L#é": 24545} {
		if got := hint(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}
