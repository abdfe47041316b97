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
