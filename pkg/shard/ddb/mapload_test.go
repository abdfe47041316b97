package ddb

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestFirstGap: a gap is a change that was not there yet, unless the log has let go
// of it.
func TestFirstGap(t *testing.T) {
	type run struct{ from, to int64 }
	for name, c := range map[string]struct {
		seen []run
		want int64
	}{
		"nothing":                      {nil, 1},
		"all":                          {[]run{{1, 7}}, 8},
		"one came meanwhile":           {[]run{{1, 7}, {9, 20}}, 8},
		"kept ones":                    {[]run{{3001, 13000}}, 13001},
		"some went meanwhile":          {[]run{{3, 3}, {6, 6}, {9, 10008}}, 10009},
		"some went, and others came":   {[]run{{3, 3}, {9, 10000}, {10002, 10008}}, 10001},
		"a strange one, long gone by":  {[]run{{7, 7}, {20001, 30000}}, 30001},
		"the log is young, all is new": {[]run{{1, 1}}, 2},
	} {
		l := newLoad(MaxKeys, farFuture)
		for _, r := range c.seen {
			for n := r.from; n <= r.to; n++ {
				l.note(n, item{"pk": logKey(n)["pk"]})
			}
		}
		if got := l.firstGap(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
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
