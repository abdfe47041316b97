package collect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/throttles"
)

// token matches the parts of a logged throttle: one of the reasons, an ARN, or an exception.
var token = regexp.MustCompile(`(Table|Index)(Read|Write)(ProvisionedThroughput|AccountLimit|KeyRangeThroughput|MaxOnDemandThroughput)Exceeded\b` +
	`|arn:[\w-]+:dynamodb:[\w-]*:\w*:table/[\w.-]+(/index/[\w.-]+)?` +
	`|\b(ProvisionedThroughputExceeded(Exception)?|ThrottlingException|ThrottlingError|RequestLimitExceeded)\b`)

// ofDynamoDB matches a line about DynamoDB. Other services have a ThrottlingException, too.
var ofDynamoDB = regexp.MustCompile(`(?i)dynamo|throughput for the table|capacity of your table|throughput quota for your account|\b(Put|Get|Update|Delete|BatchGet|BatchWrite|TransactGet|TransactWrite)Items?\b`)

// timestamp matches a time with its offset. Without an offset, the instant is unknown.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// Bounds of reading a log.
const (
	maxLine  = 1 << 20 // bytes of a line that are read
	oneError = 40      // lines over which an SDK's error may be printed, its stack included
	onePair  = 3       // lines over which a reason and its resource may be printed
)

// logReader counts the throttles of a log.
type logReader struct {
	c       *collection
	counts  map[throttles.Reason]int
	errors  int  // throttles within the time, on the tables or without a reason
	others  int  // throttles of other tables
	old     int  // throttles outside the time
	outside bool // the newest timestamp is outside the time

	current     *loggedError // nil for none
	reason, arn string       // the newest, if not paired yet
	at          int          // line of the newer of the two
}

// loggedError is one error of an SDK, on one line or on several.
type loggedError struct {
	first, last int // its lines
	outside     bool
	reasons     []throttles.Reason
}

// readLog counts the reasons in the log.
func (c *collection) readLog() error {
	if c.Log == nil {
		return nil
	}
	l := &logReader{c: c, counts: map[throttles.Reason]int{}}
	in := bufio.NewReaderSize(c.Log, maxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		l.readLine(string(line), n)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading --log %s: %w", c.LogName, err)
		}
		if err != nil {
			break
		}
	}
	l.finish()
	l.addCounts()
	return nil
}

// readLine reads one line. An indented line continues the current error, and so does the first reason after it.
func (l *logReader) readLine(text string, n int) {
	if at, err := time.Parse(time.RFC3339, timestamp.FindString(text)); err == nil {
		l.outside = at.Before(l.c.From) || at.After(l.c.To)
	}
	if l.current != nil && (n-l.current.last > oneError || strings.HasPrefix(text, "{")) {
		l.finish()
	}
	if n-l.at > onePair {
		l.reason, l.arn = "", ""
	}
	indented := strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t")
	for _, word := range token.FindAllString(text, -1) {
		same := l.current != nil && (l.current.first == n || l.current.last == n || indented)
		switch {
		case strings.HasPrefix(word, "arn:"):
			l.arn, l.at = word, n
		case strings.HasSuffix(word, "Exceeded") && (strings.HasPrefix(word, "Table") || strings.HasPrefix(word, "Index")):
			l.reason, l.at = word, n
			if l.current == nil || !same && len(l.current.reasons) > 0 {
				l.begin(n)
			}
		case same, l.current != nil && strings.Contains(text, "#"+word), !ofDynamoDB.MatchString(text):
			continue // the same error again, or another service's
		default:
			l.begin(n)
			continue
		}
		l.pair(n)
	}
}

func (l *logReader) begin(n int) {
	l.finish()
	l.current = &loggedError{first: n, last: n, outside: l.outside}
}

// pair adds a reason on its resource to the error.
func (l *logReader) pair(n int) {
	if l.reason == "" || l.arn == "" || l.current == nil {
		return
	}
	if reason, ok := throttles.Parse(l.reason, l.arn); ok {
		l.current.reasons, l.current.last = append(l.current.reasons, reason), n
		l.reason, l.arn = "", ""
	}
}

// finish counts the current error.
func (l *logReader) finish() {
	e := l.current
	if l.current = nil; e == nil {
		return
	}
	ours := slices.ContainsFunc(e.reasons, func(r throttles.Reason) bool { return l.c.wanted(r.ID) })
	switch {
	case e.outside:
		l.old++
	case len(e.reasons) > 0 && !ours:
		l.others++
	default:
		l.errors++
		for _, r := range e.reasons {
			if l.c.wanted(r.ID) {
				l.counts[r]++
			}
		}
	}
}

// addCounts adds the counts to the evidence.
func (l *logReader) addCounts() {
	l.c.Logged = float64(l.errors)
	for r, n := range l.counts {
		l.c.Counts = append(l.c.Counts, throttles.Count{Reason: r, Events: float64(n), Source: throttles.Source{Name: l.c.LogName, Text: fmt.Sprintf("%d errors with %s", n, r)}})
	}
	if l.old > 0 {
		l.c.addNote("%s: %d throttles are outside this time. Pass --since to count older ones.", l.c.LogName, l.old)
	}
	if l.others > 0 {
		l.c.addNote("%s: %d throttles are of other tables or indexes.", l.c.LogName, l.others)
	}
}
