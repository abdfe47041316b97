package live

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSplits checks that a stream shard with several children is a split, at the time at which it ended. One child is
// no split, and neither is a stream shard that ended before reading began.
func TestSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{listDelay: 3 * time.Second}
		f.end(f.open(""), 2)
		time.Sleep(10 * time.Second)
		r := f.reader(t, Options{})
		time.Sleep(20 * time.Second)
		replaced, split := f.shards[1], f.shards[2]
		f.end(replaced, 1)
		ended := time.Now()
		f.end(split, 3)
		time.Sleep(time.Minute)
		got := r.Splits()
		if len(got) != 1 || got[0].Parent != split.id || got[0].Children != 3 || got[0].Time.Sub(ended).Abs() > 2*time.Second {
			t.Errorf("splits %+v, want one of %s into 3 at %v", got, split.id, ended)
		}
	})
}

// TestWindowsAreComplete checks that windows are returned only after their end. An idle window has one item without
// keys and without a gap.
func TestWindowsAreComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.open("")
		r := f.reader(t, Options{AtOnce: true})
		seen := 0
		seconds(62, func(second int) {
			if second < 30 {
				f.write(s, "key", 1)
			}
			seen = 0
			for w := range r.Windows(t.Context(), time.Time{}, time.Now().Add(time.Hour), Window) {
				seen++
				if w.Start.Add(Window).After(time.Now()) {
					t.Errorf("the window of %v is returned before its end, at %v", w.Start, time.Now())
				}
				if idle := w.Start.After(r.windows.begin.Add(30 * time.Second)); len(w.Items) != 1 || w.Items[0].Coverage != 0 || idle && len(w.Items[0].Keys) > 0 {
					t.Errorf("%v: %+v", w.Start, w.Items)
				}
			}
		})
		if seen != 5 && seen != 6 {
			t.Errorf("%d windows in a minute, want 5 or 6", seen)
		}
	})
}
