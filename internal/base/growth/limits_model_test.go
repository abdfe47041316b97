package growth

import (
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// holdTime is how long a transaction holds its items.
const holdTime = 5 * time.Millisecond

// allQuota is the limit's quota, which hits never use up. Initially the first write shard has all of it.
const allQuota = 1e9

// hit makes an attempt of a limit's hit as package limits does. A write shard that is known to have no quota left first
// gets quota from write shard 0, by a transaction.
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
		o = outcome(!w.consume(1, to))
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

// transfer transfers a share of write shard 0's quota to write shard n, which the hit uses.
func (w *world) transfer(box *container, c *call, sent entry, n int) {
	v, donor, to := box.views[c.key], place{key: c.key}, place{key: c.key, shard: n}
	share := (allQuota - v.used[0]) / float64(sent.count)
	ok := w.now >= w.held[donor] && w.now >= w.held[to] && w.consume(2, donor, to)
	enough := w.used[0] <= allQuota-share
	if ok {
		if w.held[donor], w.held[to] = w.now+holdTime, w.now+holdTime; enough {
			w.used[0] += share
			w.used[n] += 1 - share
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

// counted reads the used quota of all write shards after an accepted hit, if the last read is too old, and ends the
// request.
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
