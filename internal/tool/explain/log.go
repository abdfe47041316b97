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

// Log is a log of a program that calls DynamoDB. Name is shown in the report.
type Log struct {
	Name string
	Text io.Reader
}

// timestamp matches a time with an offset. A time without an offset is ignored.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// Bounds of a log.
const (
	maxLine       = 1 << 20   // bytes of a line that are read
	maxSources    = 200       // sources with an open event
	maxRequestIDs = 1_000_000 // requests whose repeated errors are recognized
	maxLogKeys    = 10_000    // keys whose throttles are counted
)

// logReader counts the throttles of a log. Events of different sources (threads, requests, processes) may be interleaved.
type logReader struct {
	c         *collection
	name      string
	newestAt  time.Time // the newest timestamp
	isOutside bool      // whether newestAt is outside the time that is explained

	document document
	open     map[string]*logEvent // events that have not ended, by source
	newest   map[string]*logEvent // of them the event of the newest line, by logLine.collectorSource; of all for ""

	counted map[string][]Reason // the reasons that were counted for a request, by its id
	logCounts
}

// readLogs adds the throttles of all logs.
func (c *collection) readLogs() error {
	for _, log := range c.Logs {
		l := &logReader{
			c: c, name: log.Name, open: map[string]*logEvent{}, newest: map[string]*logEvent{}, counted: map[string][]Reason{},
			logCounts: logCounts{counts: map[Reason]int{}, seconds: map[Reason]*seconds{}, named: map[Reason]bool{}, keys: map[Key]int{}},
		}
		if err := l.read(log.Text); err != nil {
			return fmt.Errorf("reading --log %s: %w", log.Name, err)
		}
		l.addCounts()
	}
	return nil
}

// read reads a log to its end, and counts its throttles.
func (l *logReader) read(log io.Reader) error {
	lines := bufio.NewReaderSize(log, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		l.collect(string(line))
		for errors.Is(err, bufio.ErrBufferFull) { // skips the rest of a long line
			_, err = lines.ReadSlice('\n')
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

// collect reads a line, or adds it to the open document.
func (l *logReader) collect(line string) {
	line = asWritten(line)
	isOpen := len(l.document.lines) > 0
	if !isOpen && !l.document.isFirstLine(line) {
		l.readLine(line)
		return
	}
	isInside := line == "" || indented(line)
	if isOpen && !isInside && !strings.ContainsAny(line[:1], "]}") { // the lines are no document
		l.readDocument()
		l.collect(line)
		return
	}
	if more := l.document.add(line); !more {
		l.readDocument()
	}
}

// readDocument reads and closes the open document: its events if it is JSON, or else its lines.
func (l *logReader) readDocument() {
	lines := l.document.lines
	l.document = document{}
	if records := recordsOf(strings.Join(lines, "\n")); records != nil {
		for _, r := range records {
			l.readRecord(r, "")
		}
		return
	}
	for _, line := range lines {
		l.readLine(line)
	}
}

// readLine adds a line to the event that it belongs to. If the line is JSON, it adds each of its records.
func (l *logReader) readLine(line string) {
	l.setTime(line)
	text, collectorSource := cutTransport(line)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") {
		if records := recordsOf(text); records != nil {
			for _, r := range records {
				l.readRecord(r, collectorSource)
			}
			return
		}
	}
	parsed := parseLine(text, collectorSource)
	words := throttleWords.FindAllString(parsed.text, -1)
	event := l.eventOf(&parsed, words)
	event.add(&parsed, words)
}

// readRecord adds a record to its source's open event if its message continues the event, or else begins an event.
func (l *logReader) readRecord(r record, collectorSource string) {
	l.setTime(r.text)
	line := parseLine(r.line, r.source+collectorSource)
	line.headed, line.collectorSource = r.line != "", collectorSource
	event := l.open[line.source]
	isThrottle := r.line == "" && throttleWords.MatchString(r.text)
	if event == nil || !r.hasLine || isThrottle || !event.belongs(&line, nil) {
		line.text, line.headed = r.text, false
		event = l.beginEvent(&line)
	}
	l.newest[line.collectorSource], l.newest[""] = event, event
	event.add(&line, throttleWords.FindAllString(line.text, -1))
}

// setTime sets newestAt and isOutside if a line has a timestamp.
func (l *logReader) setTime(line string) {
	if at, err := time.Parse(time.RFC3339, timestamp.FindString(line)); err == nil {
		l.newestAt, l.isOutside = at, at.Before(l.c.From) || at.After(l.c.To)
	}
}

// eventOf returns the event to which a line belongs, which is then in l.newest: the open event with its request id, if the
// line has no header; or else the open event of its source or, without header and names, the newest event of its
// container. If the line does not fit this event, eventOf begins a new one.
func (l *logReader) eventOf(line *logLine, words []string) *logEvent {
	ids := requestIDs(line.text)
	if sameRequest := l.eventWithID(ids); sameRequest != nil && !line.headed {
		l.newest[line.collectorSource], l.newest[""] = sameRequest, sameRequest
		return sameRequest
	}
	event := l.newest[line.collectorSource]
	if line.source != line.collectorSource || line.headed {
		event = l.open[line.source]
	}
	belongs := event != nil && event.belongs(line, words) && (line.headed || !event.conflicts(line, ids))
	if !belongs {
		event = l.beginEvent(line)
	}
	l.newest[line.collectorSource], l.newest[""] = event, event
	return event
}

// eventWithID returns the open event with one of the request ids, or nil.
func (l *logReader) eventWithID(ids []string) *logEvent {
	for _, id := range ids {
		for _, event := range l.open {
			if slices.Contains(event.ids, id) {
				return event
			}
		}
	}
	return nil
}

// beginEvent counts the open event of a line's source, and begins a new event. With maxSources open events it counts all
// of them.
func (l *logReader) beginEvent(line *logLine) *logEvent {
	if old := l.open[line.source]; old != nil {
		l.countEvent(old)
		maps.DeleteFunc(l.newest, func(_ string, e *logEvent) bool { return e == old })
	} else if len(l.open) >= maxSources {
		l.countAll()
	}
	event := &logEvent{at: l.newestAt, outside: l.isOutside}
	l.open[line.source] = event
	return event
}

// countAll counts and closes all open events.
func (l *logReader) countAll() {
	for _, source := range slices.Sorted(maps.Keys(l.open)) {
		l.countEvent(l.open[source])
	}
	clear(l.open)
	clear(l.newest)
}

// countEvent counts an event if it is a throttle. A repeated event, of requests that were counted before, counts only if it
// names a reason and no cause is known yet: in place of the reasons without a cause.
func (l *logReader) countEvent(event *logEvent) {
	isThrottle := event.throttled || (event.unnamed && event.dynamo)
	if !isThrottle {
		return
	}
	reasons, unnamedIndex := event.reasons, false
	if len(reasons) == 0 {
		reasons, unnamedIndex = l.c.guessReasons(event)
	}
	wanted := slices.DeleteFunc(slices.Clone(reasons), func(r Reason) bool { return !l.c.isWanted(r.ID) })
	before, repeated := l.countedBefore(event)
	causeKnown := slices.ContainsFunc(before, func(r Reason) bool { return r.Cause != "" })
	switch {
	case event.outside:
		l.outside++
		return
	case len(reasons) > 0 && len(wanted) == 0:
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
	if len(wanted) == 0 {
		return
	}
	for _, r := range wanted {
		l.countReason(r, event)
	}
	for _, id := range event.ids {
		l.counted[id] = wanted
	}
}

// countedBefore reports whether all requests of an event were counted before, false if it has no request ids, and
// returns the reasons of the last of them. It records the requests that were not, without reasons.
func (l *logReader) countedBefore(event *logEvent) (before []Reason, repeated bool) {
	repeated = len(event.ids) > 0
	for _, id := range event.ids {
		reasons, wasCounted := l.counted[id]
		repeated = repeated && wasCounted
		if wasCounted {
			before = reasons
		} else if len(l.counted) < maxRequestIDs {
			l.counted[id] = nil
		}
	}
	return before, repeated
}

// countReason counts an event's throttle for a reason, with its time and key. It ignores a reason without an operation.
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
