package ddb

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// newForm is a history in a form that is not known here.
var newForm = &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "v2;1000000000;40"}}}

// TestAChangeThatCannotBeRead makes its key's look-ups fail, in views that had the key
// before, in those that had not, and in new ones; until a change that can be read.
func TestAChangeThatCannotBeRead(t *testing.T) {
	for name, version := range map[string]types.AttributeValue{
		"another form of the history": number(10), "of the version, too": &types.AttributeValueMemberS{Value: "10"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeMap{page: 10, items: map[string]item{}}
			for seq := int64(1); seq < 10; seq++ { // a scan comes to the tenth before it comes to the second
				f.change(seq, map[bool]string{true: "E#a", false: "E#c"}[seq == 2], 16)
			}
			m := NewMap(f, "m")
			if _, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil {
				t.Fatal(err)
			}
			for seq, key := range map[int64]string{10: "E#a", 11: "E#b"} {
				f.change(seq, key, 40)
				for _, it := range []item{f.items[key], f.items[text(logKey(seq), "pk")]} {
					it[attrHistory], it[attrVersion] = newForm, version
				}
			}
			time.Sleep(ViewAge + time.Second)
			views := map[string]*Map{"held": m}
			if _, known := version.(*types.AttributeValueMemberN); known { // else new views prefer what is readable
				views["new"] = NewMap(f, "m")
			}
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
			f.change(12, "E#a", 20)
			time.Sleep(ViewAge + time.Second)
			check("changed since", false)
		})
	}
}

// TestADamagedChange of a key whose item is whole holds nobody up.
func TestADamagedChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMap{page: 10, items: map[string]item{}}
		f.change(1, "E#a", 16)
		m := NewMap(f, "m")
		if _, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil {
			t.Fatal(err)
		}
		f.change(2, "E#a", 40)
		f.items["log#2"][attrHistory] = newForm
		time.Sleep(ViewAge + time.Second)
		for view, m := range map[string]*Map{"held": m, "new": NewMap(f, "m")} {
			if e, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil || e.History.Newest() != 40 {
				t.Errorf("%s view: %d write shards, %v", view, e.History.Newest(), err)
			}
		}
	})
}
