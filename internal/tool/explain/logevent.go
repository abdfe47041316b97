package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// throttleWords matches the parts of a logged throttle: one of the reasons, an ARN, an exception, or an exception's text.
var throttleWords = regexp.MustCompile(`(Table|Index)(Read|Write)(ProvisionedThroughput|AccountLimit|KeyRangeThroughput|MaxOnDemandThroughput)Exceeded\b` +
	`|arn:[\w-]+:dynamodb:[\w-]*:\w*:table/[\w.-]+(/index/[\w.-]+)?` +
	`|\b(ProvisionedThroughputExceeded(Exception)?|ThrottlingException|ThrottlingError|RequestLimitExceeded)\b` +
	`|level of configured provisioned throughput|Throughput exceeds the (current|maximum) `)

// ofDynamoDB matches a line about DynamoDB. Other services have a ThrottlingException, too.
var ofDynamoDB = regexp.MustCompile(`(?i)dynamo|configured provisioned throughput|throughput for the table|capacity of your table|your table or index|capacity for one or more global|maximum OnDemandThroughput|throughput (quota|limit) for your account|\b(Put|Get|Update|Delete|BatchGet|BatchWrite|TransactGet|TransactWrite)Items?\b`)

// ofOthers matches the text of other services' throttles.
var ofOthers = regexp.MustCompile(`(?i)rate exceeded`)

// inJSON matches a line that Docker or journald keeps as JSON.
var inJSON = regexp.MustCompile(`^{"log":"|"__REALTIME_TIMESTAMP"`)

// continuation matches a line at the margin that continues an event.
var continuation = regexp.MustCompile(`^("?[}\])]` + // a closing bracket
	`|at |\S+:\d+:in [\x60'][^\n]*'(\n|$)|#\d+ [/{[]` + // a frame of JavaScript, of Ruby, of PHP
	`|\.\.\. |\(\d+\) ` + // Java's "... 2 more", Go's "(1) attached stack trace"
	`|-{3}|<-{2}|\(Inner ` + // .NET's "--- End of inner exception", "<---", "(Inner Exception #0)"
	`|\[(cause|errors?|stacktrace|previous exception)\]|Next \S` + // JavaScript's and Monolog's titles, PHP's next exception
	`|The above exception was |During handling of the above ` + // Python's titles of causes
	`|(?i:(root |original )?causes?( by)?:|(caused|wrapped) by\b|wraps:|error types:|suppressed:|stack ?trace\b|(inner|original|previous) ?(exception|error)?:))`)

// traceback matches the first line of Python's stack, which package rich prints in a box.
var traceback = regexp.MustCompile(`^((  \+ Exception Group )?Traceback \(most recent call last\):|╭─+ Traceback \(most recent call last\))`)

// titled matches a line that begins with the class of an exception.
var titled = regexp.MustCompile(`^((Exception in thread "[^"]*"|Uncaught|Unhandled exception\.|PHP Fatal error:|Fatal error:) +)*[\w.$\\:]*(Exception|Error|LimitExceeded|Errors::\w+)\b`)

// rubyError matches the first line of Ruby's error.
var rubyError = regexp.MustCompile(`^\S+?:\d+:in `)

// logEvent is an event of a log, and at most one throttle: a logger's line or an exception, with its stack and its causes.
type logEvent struct {
	// These say which lines belong to the event.
	logged  bool   // the first line is a logger's
	throws  bool   // the first line names an exception of a throttle, or its text
	titled  bool   // a line begins with an exception's class
	stack   bool   // a line is indented
	tracing bool   // Python's stack has begun, and its exception has not come
	headed  bool   // the newest line at the margin, such as that stack's first, has a logger's header
	ruby    string // position of the first error of Ruby
	last    string // newest line that is not blank

	at          time.Time // the newest timestamp before the first line or in it; zero for none
	outside     bool      // at is outside the time that is explained
	throttled   bool      // a throttle of DynamoDB is named
	unnamed     bool      // a throttle is named, and no service on its line
	dynamo      bool      // a line names DynamoDB
	reasons     []Reason
	reason, arn string // the newest that are not in reasons yet
	resource    string // the first ARN
	ids         []string
	text        strings.Builder
}

// maxText is the number of bytes of an event that are kept.
const maxText = 64 << 10

// unprintable matches colours, also as rsyslog and JSON write them, and the mark with which some editors begin a file.
var unprintable = regexp.MustCompile(`(?:\x1b|\\u001[bB]|#033)\[[\d;]*[mK]|\x{feff}`)

// asWritten returns a line as the program wrote it, without Docker's JSON and without colours. A line in journald's JSON gets
// the form of a journal in text.
func asWritten(line string) string {
	line = unprintable.ReplaceAllString(line, "")
	var kept struct {
		Log, Message string
		Micros       int64  `json:"__REALTIME_TIMESTAMP,string"`
		Process      string `json:"_PID"`
	}
	isJSON := inJSON.MatchString(line) && json.Unmarshal([]byte(line), &kept) == nil
	switch {
	case isJSON && kept.Micros > 0:
		line = fmt.Sprintf("%s host [%s]: %s", time.UnixMicro(kept.Micros).UTC().Format(time.RFC3339), cmp.Or(kept.Process, "-"), kept.Message)
	case isJSON && strings.HasSuffix(kept.Log, "\n"):
		line = kept.Log
	}
	return strings.TrimRight(line, " \t\r\n")
}

// belongs reports whether the next line belongs to the event. It cuts the rest of a logger's header from a line that
// continues an exception. words are the line's throttleWords.
func (e *logEvent) belongs(next *logLine, words []string) bool {
	line, throws := next.text, slices.ContainsFunc(words, isException)
	switch {
	case line == "":
		return !next.headed || next.source != ""
	case traceback.MatchString(line):
		return !e.stack || strings.HasSuffix(e.last, "exception:") || strings.HasSuffix(e.last, "exception occurred:")
	case !throws && slices.ContainsFunc(words, isReason) && e.lacksReason(): // reasons after their exception
		return true
	case next.headed:
		text, continues := next.continued()
		next.text = text
		secondStack := e.stack && traceback.MatchString(text)
		inTraceback := e.tracing && e.headed
		return inTraceback || (continues && !secondStack)
	case indented(line), continuation.MatchString(line):
		return true
	case e.tracing, strings.HasSuffix(e.last, ":"):
		return true
	case strings.HasPrefix(line, "{"):
		return false
	case e.ruby != "" && rubyError.MatchString(line):
		return strings.HasPrefix(e.last, "\tfrom ") && rubyError.FindString(line) != e.ruby
	case titled.MatchString(line):
		return !e.stack && !e.titled && (e.logged || e.announces(line))
	}
	anotherThrottle := throws && (!e.throws || e.stack)
	return e.logged && !anotherThrottle
}

// conflicts reports whether a line begins another event, because both have request ids, and these differ. ids are the
// line's. A line of a stack or a cause never conflicts.
func (e *logEvent) conflicts(line *logLine, ids []string) bool {
	return len(ids) > 0 && len(e.ids) > 0 && !indented(line.text) && !continuation.MatchString(line.text)
}

// announces reports whether the newest line ends with the class or the message of the exception on this line.
func (e *logEvent) announces(line string) bool {
	class := titled.FindString(line)
	message := strings.TrimPrefix(line[len(class):], ": ")
	if message != "" && strings.HasSuffix(e.last, message) {
		return true
	}
	return strings.HasSuffix(e.last, ": "+class)
}

// add adds a line to the event. words are the line's throttleWords.
func (e *logEvent) add(added *logLine, words []string) {
	line := added.text
	if line == "" {
		return
	}
	atMargin := !indented(line)
	if isFirst := e.last == ""; isFirst {
		e.logged, e.throws = added.headed, slices.ContainsFunc(words, isException)
	}
	e.stack = e.stack || !atMargin || strings.Contains(line, "\n  File ") // in a record
	e.titled = e.titled || titled.MatchString(line)
	if atMargin || strings.HasPrefix(line, "╭") {
		e.tracing, e.headed = traceback.MatchString(line), added.headed
	}
	if e.ruby == "" {
		e.ruby = rubyError.FindString(line)
	}
	e.last = line
	e.readWords(line, words)
}

func isReason(word string) bool {
	return strings.HasPrefix(word, "Table") || strings.HasPrefix(word, "Index")
}

func isException(word string) bool { return !isReason(word) && !strings.HasPrefix(word, "arn:") }

// lacksReason reports whether the event names an exception and no reason.
func (e *logEvent) lacksReason() bool { return (e.throttled || e.unnamed) && len(e.reasons) == 0 }

// readWords adds the parts of a throttle in a line, its request ids, and its text.
func (e *logEvent) readWords(line string, words []string) {
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "arn:"):
			e.arn = word
			if e.resource == "" {
				e.resource = word
			}
		case isReason(word):
			e.reason, e.throttled = word, true
		case ofDynamoDB.MatchString(line):
			e.throttled = true
		default:
			e.unnamed = e.unnamed || !ofOthers.MatchString(line)
		}
		e.addPair()
	}
	e.dynamo = e.dynamo || ofDynamoDB.MatchString(line)
	e.ids = append(e.ids, requestIDs(line)...)
	if e.text.Len() < maxText {
		e.text.WriteString(line + "\n")
	}
}

// addPair adds the newest reason and ARN to reasons, once they belong together. An event may repeat a reason for each cause.
func (e *logEvent) addPair() {
	if e.reason == "" || e.arn == "" {
		return
	}
	if reason, ok := ParseReason(e.reason, e.arn); ok {
		e.reason, e.arn = "", ""
		if !slices.Contains(e.reasons, reason) {
			e.reasons = append(e.reasons, reason)
		}
	}
}

// indentedLine matches a line of a stack: it is indented, in a box, or marked by Python's package loguru.
var indentedLine = regexp.MustCompile(`^([ \t│╭╰]|> File ")`)

// indented reports whether a line is a line of a stack, by its first characters.
func indented(line string) bool { return indentedLine.MatchString(line) }

// guessReasons returns the reason that the text of an event without ThrottlingReasons implies, or none if its table or index
// is unknown. The operation and the cause may be "". unnamedIndex means that the text is about an index without a name.
func (c *collection) guessReasons(event *logEvent) (reasons []Reason, unnamedIndex bool) {
	text := event.text.String()
	reason := Reason{Operation: operationOf(text), Cause: causeOf(text)}
	if event.reason != "" {
		if event.resource != "" { // a table's reason with an index's ARN, or the reverse
			return nil, false
		}
		reason.Operation, reason.Cause = ParseSuffix(event.reason)
	}
	id, known := c.resourceOf(text, event.resource, strings.HasPrefix(event.reason, "Index"))
	if !known {
		return nil, id.Table != ""
	}
	reason.ID = id
	return []Reason{reason}, false
}
