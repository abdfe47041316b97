package growth

import (
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// holdTime is how long a transaction holds its items.
const holdTime = 5 * time.Millisecond

// allQuota is the quota of the limit's first write shard, the only one with a share: hits never use it up.
const allQuota = 1e9

// hit makes an attempt of a limit's hit as package limits does: on a write shard that is known to have
// quota, or else on one that gets quota from the first by a transaction.
func (w *world) hit(box *container, c *call) {
	v := box.views[c.key]
	sent, n := v.entry, w.choose(v)
	if used, known := v.used[n]; n > 0 && known && used >= 0 {
		w.transfer(box, c, sent, n)
		return
	}
	to := place{key: c.key, shard: n}
	o := shard.Conflicted
	if w.now >= w.held[to] {
		o = outcome(!w.take(1, to))
	}
	full := n > 0 && w.used[n] >= 0
	if o == shard.Accepted {
		if !full {
			w.used[n]++
		}
		v.used[n] = w.used[n]
	}
	w.in(callTime, func() {
		w.observe(box, c, sent, n, o, func() {
			if o == shard.Accepted && full {
				w.transfer(box, c, sent, n)
				return
			}
			w.counted(box, c, o == shard.Accepted)
		})
	})
}

// choose returns the write shard of a hit: see limits.choose.
func (w *world) choose(v *view) int {
	var open, empty []int
	for n := 1; n < v.count; n++ {
		if v.used[n] < 0 {
			open = append(open, n)
		} else {
			empty = append(empty, n)
		}
	}
	if w.rng.IntN(4) == 0 {
		open, empty = empty, open
	}
	for _, list := range [][]int{open, empty} {
		if len(list) > 0 {
			return list[w.rng.IntN(len(list))]
		}
	}
	return 0
}

// transfer takes part of the first write shard's quota for write shard n, and the hit out of it.
func (w *world) transfer(box *container, c *call, sent entry, n int) {
	v, donor, to := box.views[c.key], place{key: c.key}, place{key: c.key, shard: n}
	part := (allQuota - v.used[0]) / float64(sent.count)
	ok := w.now >= w.held[donor] && w.now >= w.held[to] && w.take(2, donor, to)
	enough := w.used[0] <= allQuota-part
	if ok {
		if w.held[donor], w.held[to] = w.now+holdTime, w.now+holdTime; enough {
			w.used[0] += part
			w.used[n] += 1 - part
		}
		v.used[0], v.used[n] = w.used[0], w.used[n]
	} else {
		delete(v.used, n)
	}
	w.in(callTime+holdTime, func() {
		w.observe(box, c, sent, n, shard.Inconclusive, func() {
			if ok && !enough {
				w.hit(box, c)
				return
			}
			w.counted(box, c, ok)
		})
	})
}

// counted reads the use of all write shards after an allowed hit, if the last reading is too old.
func (w *world) counted(box *container, c *call, ok bool) {
	v := box.views[c.key]
	if age := w.now - v.read; ok && v.count > 1 && age >= max(time.Second, time.Duration(v.count)*time.Second/16) {
		v.read = w.now
		for n, used := range w.used {
			v.used[n] = used
		}
	}
	w.goOn(box, c, ok)
}
