package ddb

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestAChangeThatCannotBeRead makes its key's look-ups fail, in views that had the key
// before, in those that had not, and in new ones; until a change that can be read.
func TestAChangeThatCannotBeRead(t *testing.T) {
	for name, version := range map[string]types.AttributeValue{
		"another form of the history": number(10), "of the version, too": &types.AttributeValueMemberS{Value: "10"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeMap(10, 0, 0)
			f.change(9, "E#a", 16)
			f.change(9, "E#c", 16)
			m := NewMap(f, "m")
			if _, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			for _, key := range []string{"E#a", "E#b"} {
				it, log := f.change(10, key, 40)
				for _, it := range []item{it, log} {
					it[attrHistory], it[attrVersion] = newForm, version
				}
			}
			time.Sleep(ViewAge + time.Second)
			views := map[string]*Map{"held": m, "new": NewMap(f, "m")}
			check := func(when string, faulty bool) {
				for view, m := range views {
					for key, fails := range map[string]bool{"E#a": faulty, "E#b": true, "E#c": false} {
						if e, err := m.Lookup(t.Context(), key, time.Now()); errors.Is(err, ErrStale) != fails || !fails && e.fault != nil {
							t.Errorf("%s, %s, %s view: %s has %d, %v", name, when, view, key, e.History.Newest(), err)
						}
					}
				}
			}
			check("unreadable", true)
			f.change(11, "E#a", 20)
			time.Sleep(ViewAge + time.Second)
			check("changed since", false)
		})
	}
}

// TestADamagedChange of a key whose item is whole holds nobody up.
func TestADamagedChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeMap(10, 0, 0)
		f.change(1, "E#a", 16)
		m := NewMap(f, "m")
		if _, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil {
			t.Fatal(err)
		}
		_, log := f.change(2, "E#a", 40)
		log[attrHistory] = newForm
		time.Sleep(ViewAge + time.Second)
		for view, m := range map[string]*Map{"held": m, "new": NewMap(f, "m")} {
			if e, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil || e.History.Newest() != 40 {
				t.Errorf("%s view: %d write shards, %v", view, e.History.Newest(), err)
			}
		}
	})
}
