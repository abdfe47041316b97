package shardmap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestTimesThatTheClockContradicts checks that every change rejects a zero time and a time far from the clock,
// and a clock behind the key's newest change, and writes nothing then.
func TestTimesThatTheClockContradicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &strictMap{mapfake.New(10, 0, 0)}
		ahead := time.Duration(0)
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{Clock: func() time.Time { return time.Now().Add(ahead) }})
		seen, err := c.Pin(t.Context(), "C#a", 8, Note{By: "ops"}, time.Now().Add(-4*time.Second))
		if err != nil || seen.Updated.Before(time.Now()) {
			t.Fatalf("a request of four seconds ago: %+v, %v", seen, err)
		}
		calls := map[string]func(time.Time) error{
			"grow":      func(at time.Time) error { _, err := c.GrowFrom(t.Context(), seen, 9, Note{}, at); return err },
			"shrink":    func(at time.Time) error { _, err := c.ShrinkFrom(t.Context(), seen, 2, Note{}, at); return err },
			"pin":       func(at time.Time) error { _, err := c.Pin(t.Context(), "C#a", 3, Note{}, at); return err },
			"unpin":     func(at time.Time) error { _, err := c.Unpin(t.Context(), "C#a", Note{}, at); return err },
			"reset":     func(at time.Time) error { _, err := c.Reset(t.Context(), "C#a", at); return err },
			"forget":    func(at time.Time) error { return c.Forget(t.Context(), "C#a", at) },
			"note":      func(at time.Time) error { return c.NotePartitions(t.Context(), "items", 7, at) },
			"snapshot":  func(at time.Time) error { return c.StoreSnapshot(t.Context(), at) },
			"unchanged": func(at time.Time) error { _, err := c.Pin(t.Context(), "C#a", 8, Note{}, at); return err },
		}
		items := len(f.Items)
		for name, call := range calls {
			for at, want := range map[time.Time]string{{}: "is zero", time.Now().Add(-time.Minute): "behind the clock", time.Now().Add(time.Hour): "ahead of the clock"} {
				if err := call(at); !errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s at %v: %v", name, at, err)
				}
			}
			ahead = -time.Minute
			if err := call(time.Now().Add(ahead)); name != "note" && name != "snapshot" && (!errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), `clock and that of "ops"`)) {
				t.Errorf("%s by a clock behind the newest change: %v", name, err)
			} else if err == nil {
				items = len(f.Items)
			}
			ahead = 0
		}
		if len(f.Items) != items {
			t.Errorf("%d items, want %d", len(f.Items), items)
		}
	})
}

// TestAGrowthDoesNotWaitForAShrink checks that a growth takes effect after its own lead, also if a shrink
// is pending until later, and that it changes no count before that time.
func TestAGrowthDoesNotWaitForAShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &strictMap{mapfake.New(10, 0, 0)}
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		grown, err := c.GrowFrom(t.Context(), Entry{Key: "E#a"}, 24, Note{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		c.lead = time.Hour
		shrunk, err := c.ShrinkFrom(t.Context(), grown, 4, Note{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c.lead = LeadTime
		at := time.Now().Add(LeadTime)
		again, err := c.GrowFrom(t.Context(), shrunk, 96, Note{}, time.Now())
		if err != nil || again.Effective().Sub(at) > CommitTime || again.History.At(at.Add(-1)) != 24 || again.History.At(shrunk.Effective()) != 96 || len(again.Notes) != 2 {
			t.Errorf("%+v, %v: want 96 write shards at %v", again, err, at)
		}
		c.lead = time.Hour
		later, err := c.GrowFrom(t.Context(), again, 200, Note{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c.lead = LeadTime
		if e, err := c.ShrinkFrom(t.Context(), later, 2, Note{}, time.Now()); err != nil || e.History.At(later.Effective()) != 200 {
			t.Errorf("a shrink removed a growth: %+v, %v", e, err)
		}
	})
}

// TestNamesKeepTheirHistory checks that a caller's own name keeps all changes, whatever its text, unless the Changer
// was told that the keys are hotshard's.
func TestNamesKeepTheirHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, timeless := range map[int]func(string) bool{40: nil, maxLogged: TimelessKey} {
			f := &strictMap{mapfake.New(10, 0, 0)}
			c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{Timeless: timeless})
			e, err := c.Lookup(t.Context(), "C#42", time.Now())
			for n := range 40 {
				time.Sleep(time.Second)
				if err == nil {
					e, err = c.GrowFrom(t.Context(), e, n+2, Note{Why: fmt.Sprint(n)}, time.Now())
				}
			}
			if err != nil || len(e.History) != want {
				t.Errorf("%d changes, want %d: %v", len(e.History), want, err)
			}
		}
	})
}
