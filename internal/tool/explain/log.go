package explain

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Log is a log of a program that calls DynamoDB.
type Log struct {
	Name string
	Text io.Reader
}

// timestamp matches a time with its offset. Without an offset, the instant is unknown.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// Bounds of a log.
const (
	maxLine    = 1 << 20   // bytes of a line that are read
	maxSources = 200       // threads and requests whose events are read at a time
	maxLogged  = 1_000_000 // request ids, and 10,000 keys, that are distinguished
	maxLogKeys = 10_000
)

// logReader counts the throttles of a log. Events of different sources may be interleaved.
type logReader struct {
	c         *collection
	name      string
	at        time.Time // the newest timestamp
	atOutside bool      // at is outside the time that is explained

	document document
	open     map[string]*logEvent // by source
	newest   *logEvent

	seen map[string][]Reason // what was counted of a request, by its id
	logCounts
}

func (c *collection) readLogs() error {
	for _, log := range c.Logs {
		l := &logReader{
			c: c, name: log.Name, open: map[string]*logEvent{}, seen: map[string][]Reason{},
			logCounts: logCounts{counts: map[Reason]int{}, seconds: map[Reason]*seconds{}, named: map[Reason]bool{}, keys: map[Key]int{}},
		}
		if err := l.read(log.Text); err != nil {
			return fmt.Errorf("reading --log %s: %w", log.Name, err)
		}
		l.addCounts()
	}
	return nil
}

func (l *logReader) read(log io.Reader) error {
	in := bufio.NewReaderSize(log, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		l.collect(string(line))
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = in.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			l.readDocument()
			l.countAll()
			return nil
		case err != nil:
			return err
		}
	}
}

// collect reads a line, or adds it to the document that the newest lines began.
func (l *logReader) collect(line string) {
	line = withoutDocker(line)
	begun := len(l.document.lines) > 0
	if !begun && !l.document.isFirstLine(line) {
		l.readLine(line)
		return
	}
	inside := line == "" || indented(line)
	if begun && !inside && !strings.ContainsAny(line[:1], "]}") { // it is no document
		l.readDocument()
		l.collect(line)
		return
	}
	if !l.document.add(line) {
		l.readDocument()
	}
}

// readDocument reads the collected document: its events if it is JSON, or else its lines.
func (l *logReader) readDocument() {
	lines := l.document.lines
	l.document = document{}
	if records := recordsOf(strings.Join(lines, "\n")); records != nil {
		for _, r := range records {
			l.readRecord(r)
		}
		return
	}
	for _, line := range lines {
		l.readLine(line)
	}
}

// readLine reads one line, which may be a record in JSON.
func (l *logReader) readLine(line string) {
	l.setTime(line)
	text, source := cutTransport(line)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") {
		if records := recordsOf(text); records != nil {
			for _, r := range records {
				r.source += source
				l.readRecord(r)
			}
			return
		}
	}
	parsed := parseLine(text, source)
	words := throttleWords.FindAllString(parsed.text, -1)
	l.eventOf(&parsed, words).add(&parsed, words)
}

// readRecord reads a record, whose message may be one line of a stack.
func (l *logReader) readRecord(r record) {
	l.setTime(r.text)
	line := parseLine(r.line, r.source)
	line.headed = true
	if e := l.open[line.source]; e == nil || !e.belongs(&line, nil) {
		line.text, line.headed = r.text, false
		l.beginEvent(line.source)
	}
	l.newest = l.open[line.source]
	l.newest.add(&line, throttleWords.FindAllString(line.text, -1))
}

// setTime sets the newest timestamp if the line has one, and whether it is outside the time that is explained.
func (l *logReader) setTime(line string) {
	if at, err := time.Parse(time.RFC3339, timestamp.FindString(line)); err == nil {
		l.at, l.atOutside = at, at.Before(l.c.From) || at.After(l.c.To)
	}
}

// eventOf returns the event to which a line belongs: the event with the same request id, of the same source, or the newest
// event. If it belongs to none, eventOf begins a new event.
func (l *logReader) eventOf(line *logLine, words []string) *logEvent {
	ids := requestIDs(line.text)
	if same := l.withID(ids); same != nil && !line.headed {
		l.newest = same
		return same
	}
	event := l.newest
	if line.source != "" || line.headed {
		event = l.open[line.source]
	}
	belongs := event != nil && event.belongs(line, words)
	if belongs && !line.headed {
		belongs = !event.conflicts(line, ids)
	}
	if !belongs {
		l.beginEvent(line.source)
		return l.newest
	}
	l.newest = event
	return event
}

// withID returns the open event with one of the request ids, or nil.
func (l *logReader) withID(ids []string) *logEvent {
	for _, id := range ids {
		for _, e := range l.open {
			if slices.Contains(e.ids, id) {
				return e
			}
		}
	}
	return nil
}

// beginEvent ends the open event of a source, and begins a new one.
func (l *logReader) beginEvent(source string) {
	if old := l.open[source]; old != nil {
		l.countEvent(old)
	} else if len(l.open) >= maxSources {
		l.countAll()
	}
	l.newest = &logEvent{at: l.at, outside: l.atOutside}
	l.open[source] = l.newest
}

func (l *logReader) countAll() {
	for _, source := range slices.Sorted(maps.Keys(l.open)) {
		l.countEvent(l.open[source])
	}
	clear(l.open)
	l.newest = nil
}

// countEvent counts an event if it is a throttle. If earlier events were of the same requests and had no reason, it only
// counts the event's reason in place of theirs.
func (l *logReader) countEvent(event *logEvent) {
	if isThrottle := event.throttled || event.unnamed && event.dynamo; !isThrottle {
		return
	}
	reasons, unnamedIndex := event.reasons, false
	if len(reasons) == 0 {
		reasons, unnamedIndex = l.c.reasonOf(event)
	}
	ours := slices.DeleteFunc(slices.Clone(reasons), func(r Reason) bool { return !l.c.isWanted(r.ID) })
	before, repeated := l.countedBefore(event)
	causeKnown := slices.ContainsFunc(before, func(r Reason) bool { return r.Cause != "" })
	switch {
	case event.outside:
		l.outside++
		return
	case len(reasons) > 0 && len(ours) == 0:
		l.others++
		return
	case repeated && (len(event.reasons) == 0 || causeKnown):
		return
	case repeated:
		for _, r := range before {
			l.counts[r]--
		}
	default:
		l.errors++
		if unnamedIndex {
			l.unnamed++
		}
	}
	if len(ours) == 0 {
		return
	}
	for _, r := range ours {
		l.countReason(r, event)
	}
	for _, id := range event.ids {
		l.seen[id] = ours
	}
}

// countedBefore reports whether all requests of an event were counted before, and with which reasons. It records the
// requests that were not.
func (l *logReader) countedBefore(event *logEvent) (before []Reason, repeated bool) {
	repeated = len(event.ids) > 0
	for _, id := range event.ids {
		reasons, ok := l.seen[id]
		repeated = repeated && ok
		if ok {
			before = reasons
		} else if len(l.seen) < maxLogged {
			l.seen[id] = nil
		}
	}
	return before, repeated
}

// countReason counts a throttle with its reason, time and key. It ignores a reason without an operation.
func (l *logReader) countReason(reason Reason, event *logEvent) {
	if reason.Operation == "" {
		return
	}
	l.counts[reason]++
	l.named[reason] = l.named[reason] || len(event.reasons) > 0
	if !event.at.IsZero() {
		if l.seconds[reason] == nil {
			l.seconds[reason] = &seconds{}
		}
		l.seconds[reason].add(event.at)
	}
	if key := l.c.keyOf(event.text.String(), reason.ID); key != "" && len(l.keys) < maxLogKeys {
		l.keys[Key{Reason: reason, Key: key, Source: l.name}]++
	}
}
