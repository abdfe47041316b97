package load

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
)

// DemoStory has the demo's measurements. Times are seconds since the ramp began; a time is null if it never came.
type DemoStory struct {
	Counter      string    `json:"counter"`
	Began        time.Time `json:"began"`
	Seconds      float64   `json:"ramp_seconds"`
	PartitionWCU float64   `json:"partition_wcu"`
	HotWCU       float64   `json:"hot_wcu"` // WCU/s of one write shard from which the counter is hot

	HotAfter      *float64  `json:"hot_after_seconds"` // the earlier of the next two
	FirstVerdict  *float64  `json:"first_hot_verdict_seconds"`
	FirstThrottle *float64  `json:"first_throttled_write_seconds"`
	HottestWCU    float64   `json:"hottest_write_shard_wcu_per_second"` // in any window
	HottestAt     time.Time `json:"hottest_window"`                     // its start

	ShardsBefore int           `json:"write_shards_before"`
	ShardsAfter  int           `json:"write_shards_after"`
	Changes      []ShardChange `json:"write_shard_changes"`

	Attempts          int64   `json:"write_attempts"` // throttled attempts and accepted requests
	ThrottledAttempts int64   `json:"throttled_write_attempts"`
	ThrottledShare    float64 `json:"throttled_share_of_attempts"`
	Requests          int     `json:"requests"`
	Resent            int     `json:"requests_sent_again"` // each time after a 429 or 503
	RejectedRequests  int     `json:"rejected_requests"`   // throttled on the last attempt
	UnknownRequests   int     `json:"unknown_requests"`    // with an unknown outcome

	CoolAfter   *float64 `json:"cool_after_seconds"` // after then no window was hot and no write throttled
	CoolWindows int      `json:"cool_windows"`       // complete windows since then
	CoolWCU     float64  `json:"hottest_write_shard_after_wcu_per_second"`
}

// ShardChange is a change of the counter's shard count.
type ShardChange struct {
	Time   time.Time `json:"time"`
	After  float64   `json:"after_seconds"`
	Shards int       `json:"write_shards"`
	By     string    `json:"by"`
}

// story returns the measurements that follow from the figures.
func (m *measured) story() DemoStory {
	story := DemoStory{
		Counter: DemoCounter, Began: m.begin.UTC(), Seconds: m.end.Sub(m.begin).Seconds(), PartitionWCU: DemoPartitionWCU, HotWCU: m.hotWCU,
		ShardsBefore: max(1, m.shardsBefore), ShardsAfter: max(1, m.shardsBefore), Changes: []ShardChange{}, Requests: m.load.Requests, Resent: m.load.Retries, RejectedRequests: m.load.Rejected, UnknownRequests: m.load.Unknown,
	}
	for _, c := range m.changes {
		story.Changes = append(story.Changes, ShardChange{c.Time, *seconds(c.Time.Sub(m.begin)), c.Shards, c.By})
		story.ShardsAfter = c.Shards
	}
	for second, n := range m.throttled {
		story.ThrottledAttempts += n
		if n > 0 && story.FirstThrottle == nil {
			story.FirstThrottle = seconds(time.Duration(second) * time.Second)
		}
	}
	story.Attempts = story.ThrottledAttempts + int64(m.load.Accepted)
	if story.Attempts > 0 {
		story.ThrottledShare = math.Round(1e4*float64(story.ThrottledAttempts)/float64(story.Attempts)) / 1e4
	}
	if !m.verdict.IsZero() {
		story.FirstVerdict = seconds(m.verdict.Sub(m.begin))
	}
	story.HotAfter = earlier(story.FirstVerdict, story.FirstThrottle)
	for i, w := range m.heaviest {
		if w.wcu > story.HottestWCU {
			story.HottestWCU, story.HottestAt = w.wcu, story.Began.Add(time.Duration(i)*DemoWindow)
		}
	}
	m.setCooling(&story)
	return story
}

// seconds returns a duration in seconds, rounded to a tenth.
func seconds(d time.Duration) *float64 { return new(math.Round(d.Seconds()*10) / 10) }

// earlier returns the smaller of two times, or the time that is not nil. It returns nil if both are nil.
func earlier(a, b *float64) *float64 {
	if a == nil {
		return b
	}
	if b == nil || *a <= *b {
		return a
	}
	return b
}

// setCooling sets when the counter cooled: after the last hot window and the last throttled write. It sets no time if
// the counter was never hot, if no window follows, or if not all windows that follow were counted whole.
func (m *measured) setCooling(story *DemoStory) {
	if story.HotAfter == nil {
		return
	}
	cooledAfter := time.Duration(0)
	for second, throttled := range m.throttled {
		if throttled > 0 {
			cooledAfter = time.Duration(second+1) * time.Second
		}
	}
	for i, w := range m.heaviest {
		if w.wcu >= m.hotWCU {
			cooledAfter = max(cooledAfter, time.Duration(i+1)*DemoWindow)
		}
	}
	for i, w := range m.heaviest {
		if time.Duration(i)*DemoWindow < cooledAfter {
			continue
		}
		if w.covered < 1 {
			story.CoolWindows = 0
			return
		}
		story.CoolWindows++
		story.CoolWCU = max(story.CoolWCU, w.wcu)
	}
	if story.CoolWindows > 0 {
		story.CoolAfter = seconds(cooledAfter)
	}
}

// maxUnknownShare is the share of calls with an unknown outcome above which the figures mean nothing.
const maxUnknownShare = 0.02

// Err returns an error unless the counter became hot and cooled, and nearly all outcomes are known.
func (s *DemoStory) Err() error {
	switch {
	case float64(s.UnknownRequests) > maxUnknownShare*float64(s.Requests):
		return fmt.Errorf("this machine is too busy: %d of the counter's %d calls (%.1f%%) have an unknown outcome; run the demo again when the machine is less busy",
			s.UnknownRequests, s.Requests, 100*float64(s.UnknownRequests)/float64(s.Requests))
	case s.HotAfter == nil && s.ShardsBefore > 1:
		return fmt.Errorf("the counter never became hot: it had %d write shards from an earlier demo; run the demo again with another --prefix", s.ShardsBefore)
	case s.HotAfter == nil:
		return fmt.Errorf("the counter never became hot: its hottest write shard took %.1f of %g WCU/s; run the demo again when the machine is less busy", s.HottestWCU, s.PartitionWCU)
	case s.CoolAfter == nil:
		return errors.New("the counter did not cool before the end: run the demo again with a longer --for, or when the machine is less busy")
	}
	return nil
}

// Lines returns the story in four lines.
func (s *DemoStory) Lines() []string {
	return []string{s.hotLine(), s.shardsLine(), s.throttledLine(), s.coolLine()}
}

func (s *DemoStory) hotLine() string {
	throttle := "no write was throttled"
	if s.FirstThrottle != nil {
		throttle = fmt.Sprintf("first throttled write after %.0f s", *s.FirstThrottle)
	}
	switch {
	case s.HotAfter == nil:
		return fmt.Sprintf("Hot: never; the hottest write shard took %.1f of %g WCU/s", s.HottestWCU, s.PartitionWCU)
	case s.HotAfter == s.FirstVerdict: // the same pointer, as returned by earlier
		return fmt.Sprintf("Hot after %.0f s, when the detector named it; %s; hottest write shard %.1f of %g WCU/s", *s.HotAfter, throttle, s.HottestWCU, s.PartitionWCU)
	}
	return fmt.Sprintf("Hot after %.0f s, when the first write was throttled; hottest write shard %.1f of %g WCU/s", *s.HotAfter, s.HottestWCU, s.PartitionWCU)
}

func (s *DemoStory) shardsLine() string {
	if len(s.Changes) == 0 {
		return fmt.Sprintf("Write shards: %d, never changed", s.ShardsBefore)
	}
	var steps []string
	for _, c := range s.Changes {
		steps = append(steps, fmt.Sprintf("%d after %.0f s (by %s)", c.Shards, c.After, c.By))
	}
	return fmt.Sprintf("Write shards: from %d to %s", s.ShardsBefore, strings.Join(steps, ", "))
}

func (s *DemoStory) throttledLine() string {
	line := fmt.Sprintf("Throttled: %.1f%% of the counter's write attempts (%d of %d); %s sent again, %d of %d rejected",
		100*s.ThrottledShare, s.ThrottledAttempts, s.Attempts, display.Several(s.Resent, "request"), s.RejectedRequests, s.Requests)
	if s.UnknownRequests > 0 {
		line += fmt.Sprintf(", %d with an unknown outcome", s.UnknownRequests)
	}
	return line
}

func (s *DemoStory) coolLine() string {
	if s.CoolAfter == nil {
		return "Cool: not before the end of the ramp"
	}
	return fmt.Sprintf("Cool after %.0f s: no write was throttled in the %s that followed; hottest write shard %.1f of %g WCU/s", *s.CoolAfter, display.Several(s.CoolWindows, "window"), s.CoolWCU, s.PartitionWCU)
}
