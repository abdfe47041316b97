package collect

import (
	"cmp"
	"fmt"

	"github.com/hotshard/hotshard/internal/base/throttles"
)

// logCounts has the throttles of a log.
type logCounts struct {
	counts  map[throttles.Reason]int // the cause may be unknown
	keys    map[throttles.Key]int
	errors  int // throttles within the time, on the tables or without a reason
	others  int // throttles of other tables
	old     int // throttles outside the time
	unnamed int // throttles of an index, of which the log doesn't say which
}

// addCounts adds the counts to the evidence.
func (l *logReader) addCounts() {
	l.c.Logged += float64(l.errors)
	for r, n := range l.counts {
		if n <= 0 {
			continue
		}
		of := r.String()
		if r.Cause == "" {
			of = fmt.Sprintf("throttled %ss of %s, without a reason", r.Operation, cmp.Or(r.Index, r.Table))
		}
		l.c.Counts = append(l.c.Counts, throttles.Count{Reason: r, Events: float64(n), Source: throttles.Source{Name: l.name, Text: throttles.Several(n, "error") + " with " + of}})
	}
	for k, n := range l.keys {
		k.Throttles = float64(n)
		l.c.Keys = append(l.c.Keys, k)
	}
	if l.old > 0 {
		l.c.addNote("%s: %s outside this time. Pass --since to count older ones.", l.name, are(l.old, "throttle"))
	}
	if l.others > 0 {
		l.c.addNote("%s: %s of other tables or indexes.", l.name, are(l.others, "throttle"))
	}
	if l.unnamed > 0 {
		l.c.addNote("%s: %s of an index, and the text doesn't say of which. Log the ThrottlingReasons to know.", l.name, are(l.unnamed, "throttle"))
	}
}

// are returns a number of things as the subject of a sentence: "1 throttle is", "2 throttles are".
func are(n int, noun string) string {
	if n == 1 {
		return throttles.Several(n, noun) + " is"
	}
	return throttles.Several(n, noun) + " are"
}
