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

// token matches the parts of a logged throttle: one of the reasons, an ARN, an exception, or an exception's text.
var token = regexp.MustCompile(`(Table|Index)(Read|Write)(ProvisionedThroughput|AccountLimit|KeyRangeThroughput|MaxOnDemandThroughput)Exceeded\b` +
	`|arn:[\w-]+:dynamodb:[\w-]*:\w*:table/[\w.-]+(/index/[\w.-]+)?` +
	`|\b(ProvisionedThroughputExceeded(Exception)?|ThrottlingException|ThrottlingError|RequestLimitExceeded)\b` +
	`|level of configured provisioned throughput|Throughput exceeds the current `)

// ofDynamoDB matches a line about DynamoDB. Other services have a ThrottlingException, too.
var ofDynamoDB = regexp.MustCompile(`(?i)dynamo|configured provisioned throughput|throughput for the table|capacity of your table|your table or index|throughput quota for your account|\b(Put|Get|Update|Delete|BatchGet|BatchWrite|TransactGet|TransactWrite)Items?\b`)

// ofOthers matches the text of other services' throttles.
var ofOthers = regexp.MustCompile(`(?i)rate exceeded`)

// timestamp matches a time with its offset. Without an offset, the instant is unknown.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// maxLine is the number of bytes of a line that are read.
const maxLine = 1 << 20

// logReader counts the throttles of a log.
type logReader struct {
	c       *collection
	counts  map[throttles.Reason]int
	errors  int  // throttles within the time, on the tables or without a reason
	others  int  // throttles of other tables
	old     int  // throttles outside the time
	outside bool // the newest timestamp is outside the time
	event   logEvent
}

// logEvent is one event of a log. It is at most one throttle.
type logEvent struct {
	eventLines
	outside     bool
	throttled   bool
	unnamed     bool // an exception is named, and no service on its line
	dynamo      bool // a line names DynamoDB
	reasons     []throttles.Reason
	reason, arn string // the newest, if not paired yet
}

// readLog counts the reasons in the log.
func (c *collection) readLog() error {
	if c.Log == nil {
		return nil
	}
	l := &logReader{c: c, counts: map[throttles.Reason]int{}}
	in := bufio.NewReaderSize(c.Log, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		l.readLine(string(line))
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

// readLine reads one line. A line with reasons and without an exception belongs to the exception before it.
func (l *logReader) readLine(line string) {
	if at, err := time.Parse(time.RFC3339, timestamp.FindString(line)); err == nil {
		l.outside = at.Before(l.c.From) || at.After(l.c.To)
	}
	line = text(line)
	words := token.FindAllString(line, -1)
	throws := slices.ContainsFunc(words, isException)
	reasonsOf := !throws && slices.ContainsFunc(words, isReason) && !strings.HasPrefix(line, "{") && l.event.waits()
	if !l.event.has(line, throws) && !reasonsOf {
		l.finish()
		l.event = logEvent{outside: l.outside}
	}
	l.event.add(line, throws)
	l.event.read(line, words)
}

func isReason(word string) bool {
	return strings.HasPrefix(word, "Table") || strings.HasPrefix(word, "Index")
}

func isException(word string) bool { return !isReason(word) && !strings.HasPrefix(word, "arn:") }

// waits reports whether the event names an exception and no reason.
func (e *logEvent) waits() bool { return (e.throttled || e.unnamed) && len(e.reasons) == 0 }

// read reads the parts of a throttle in a line.
func (e *logEvent) read(line string, words []string) {
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "arn:"):
			e.arn = word
		case isReason(word):
			e.reason, e.throttled = word, true
		case ofDynamoDB.MatchString(line):
			e.throttled = true
		default:
			e.unnamed = e.unnamed || !ofOthers.MatchString(line)
		}
		e.pair()
	}
	e.dynamo = e.dynamo || ofDynamoDB.MatchString(line)
}

// pair adds a reason on its resource to the event, which may repeat it for each cause.
func (e *logEvent) pair() {
	if e.reason == "" || e.arn == "" {
		return
	}
	if reason, ok := throttles.Parse(e.reason, e.arn); ok {
		e.reason, e.arn = "", ""
		if !slices.Contains(e.reasons, reason) {
			e.reasons = append(e.reasons, reason)
		}
	}
}

// finish counts the current event if it is a throttle.
func (l *logReader) finish() {
	e := l.event
	ours := slices.ContainsFunc(e.reasons, func(r throttles.Reason) bool { return l.c.wanted(r.ID) })
	switch {
	case !e.throttled && !(e.unnamed && e.dynamo):
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
