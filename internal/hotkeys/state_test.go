package hotkeys_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestUnreadableState checks that a state that can't be decoded is dropped, logged and counted, and that the batch's
// records count.
func TestUnreadableState(t *testing.T) {
	f := newFixture(settings())
	good := f.must(t, batch{writes: repeat("C#a#0", 5, 1), first: 1}.payload())
	spoilt := func(before, after string) string {
		b, err := base64.StdEncoding.DecodeString(good["window"])
		if err != nil || !strings.Contains(string(b), before) {
			t.Fatalf("the state %q has no %q: %v", b, before, err)
		}
		return base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(b), before, after, 1)))
	}
	for name, state := range map[string]map[string]string{
		"bad counts":    {"v": good["v"], "window": spoilt("C#a#0", "C#a#")},
		"bad indexes":   {"v": good["v"], "window": spoilt("\x00\x00\x00\x00\x02{}", "\x00\x00\x01\x00\x02{}")},
		"bad units":     {"v": good["v"], "window": spoilt("{}", "{?")},
		"bad held":      {"v": good["v"], "window": good["window"], "held": "?"},
		"of the future": {"v": "99", "window": good["window"]},
		"of no release": {"v": "0", "window": good["window"]},
		"no version":    {"window": good["window"]},
		"nothing":       {"v": good["v"]},
		"cut":           {"v": good["v"], "window": good["window"][:len(good["window"])-8]},
		"no base64":     {"v": good["v"], "window": "?"},
		"another's":     {"v": good["v"], "window": "gIDQ7q1nkE6AAQ=="},
	} {
		f := newFixture(settings())
		f.must(t, batch{writes: repeat("C#b#0", 7, 1), first: 6, state: state, final: true}.payload())
		if rows := f.rows(t); len(rows) != 1 || rows[0].Key != "C#b#0" || rows[0].Peak != 7 {
			t.Errorf("%s: rows %+v, want C#b#0 with 7 units", name, rows)
		}
		if v := f.values("WindowStatesDropped")["hotshard-items"]; len(v) != 1 || !strings.Contains(f.logs.String(), "window state dropped") {
			t.Errorf("%s: want one dropped state: metrics %v\n%s", name, f.sink.data, f.logs)
		}
	}
}

// TestDroppedStateAlone checks that a window whose state was dropped has an incomplete item, although no record
// followed.
func TestDroppedStateAlone(t *testing.T) {
	for _, early := range []bool{false, true} {
		f := newFixture(settings())
		f.must(t, batch{state: map[string]string{"v": "9"}, final: true, early: early}.payload())
		items := slices.Collect(maps.Values(parsed(t, f)))
		if len(items) != 1 || !items[0].Incomplete || items[0].Part != "none" {
			t.Errorf("early %v: items %+v, want an incomplete one", early, items)
		}
	}
}

// TestStateSize checks that a response stays below Lambda's 1 MB, with the longest keys of DynamoDB in characters that
// JSON escapes, and with as many short keys as possible.
func TestStateSize(t *testing.T) {
	s := settings()
	s.TopK = 20_000
	for _, c := range []struct{ length, keys int }{{0, 25_000}, {36, 15_000}, {2043, 600}} {
		var w writes
		for i := range c.keys {
			w = append(w, write{key: strings.Repeat("\x01", c.length) + fmt.Sprintf("%05d", i), at: 9})
		}
		for i := range 400 {
			name := strings.Repeat("ü", 240) + fmt.Sprintf("%05d", i)
			w = append(w, scored(name, "all", fmt.Sprint(i), 9, 2*i, 2*i+1))
		}
		f := newFixture(s)
		raw, err := f.handler.Invoke(t.Context(), batch{writes: w, first: 1}.payload())
		var r response
		if err = errors.Join(err, json.Unmarshal(raw, &r)); err != nil {
			t.Fatal(err)
		}
		t.Logf("keys of %d bytes: a response of %d bytes", c.length+5, len(raw))
		if len(raw) > 1_000_000 || len(raw) < 900_000 && c.length > 1000 {
			t.Errorf("keys of %d bytes: a response of %d bytes, want at most 1,000,000, and 900,000 for long keys", c.length+5, len(raw))
		}
		f.must(t, batch{state: r.State, final: true}.payload())
		if len(f.table.items) != 1 {
			t.Errorf("keys of %d bytes: %d heat items, want 1", c.length+5, len(f.table.items))
		}
	}
}
