package explain

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
)

// logCounts has the throttles of a log.
type logCounts struct {
	counts  map[Reason]int      // throttles; the cause may be unknown
	seconds map[Reason]*seconds // only of throttles with a time
	named   map[Reason]bool     // whether ThrottlingReasons named the reason
	keys    map[Key]int         // throttles of a key
	errors  int                 // throttles within the time, of the explained tables or of an unknown table
	others  int                 // throttles of other tables
	outside int                 // throttles outside the time
	unnamed int                 // throttles of an index that the log doesn't name
}

// seconds counts throttles, and the seconds with throttles.
type seconds struct {
	throttles, seconds int
	last               int64 // the newest throttle's second, in Unix time
}

// add counts a throttle. If its second is not that of the last throttle, it counts as a new second.
func (s *seconds) add(at time.Time) {
	s.throttles++
	if at.Unix() != s.last {
		s.seconds, s.last = s.seconds+1, at.Unix()
	}
}

// rate returns the throttles a second, in the seconds with throttles; 0 for nil.
func (s *seconds) rate() float64 {
	if s == nil {
		return 0
	}
	return float64(s.throttles) / float64(s.seconds)
}

// addCounts adds the log's throttles and keys to the evidence, and notes on throttles that don't count.
func (l *logReader) addCounts() {
	l.c.Logged += float64(l.errors)
	for r, n := range l.counts {
		if n <= 0 {
			continue
		}
		reason := r.String()
		if r.Cause == "" {
			reason = fmt.Sprintf("throttled %ss of %s, without a reason", r.Operation, cmp.Or(r.Index, r.Table))
		}
		l.c.Counts = append(l.c.Counts, Count{Reason: r, Events: float64(n), Rate: l.seconds[r].rate(), Guessed: !l.named[r], Source: Source{Name: l.name, Text: display.Several(n, "error") + " with " + reason}})
	}
	for k, n := range l.keys {
		k.Throttles = float64(n)
		l.c.Keys = append(l.c.Keys, k)
	}
	if l.outside > 0 {
		l.c.addNote("%s: %s outside this time. Use --since to count older throttles.", l.name, display.SeveralAre(l.outside, "throttle"))
	}
	if l.others > 0 {
		l.c.addNote("%s: %s of other tables or indexes.", l.name, display.SeveralAre(l.others, "throttle"))
	}
	if l.unnamed > 0 {
		l.c.addNote("%s: %s of an index, and the text doesn't say of which. Log the ThrottlingReasons to know.", l.name, display.SeveralAre(l.unnamed, "throttle"))
	}
}
