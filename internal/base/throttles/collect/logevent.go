package collect

import (
	"encoding/json"
	"regexp"
	"strings"
)

// transport matches what Kubernetes, Docker, Compose and syslog put before each line of a program's output.
var transport = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d) std(out|err) [FP] ` +
	`|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ` +
	`|[\w.-]+[-_]\d+ +\| ` +
	`|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:]+: )`)

// inJSON is the start of a line that Docker keeps as JSON.
const inJSON = `{"log":"`

// logged matches the start of a logger's line: a date, a time, a level, or a thread before one of them.
var logged = regexp.MustCompile(`^(\[[\w .#-]*\] +)?([DIWEFA], )?[\["(]?(time=|ts=|t=)?["\[]?(` +
	`\d{4}[-/]\d\d[-/]\d\d|\d\d[-/.](\d\d|[A-Z][a-z]{2})[-/.]\d{2,4}|\d\d:\d\d:\d\d|\d{10}(\d{3}|\.\d+)?\b|(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? |(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d` +
	`|[IWEF]\d{4} \d\d:|(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|SEVERE|FATAL)\b|(trce|dbug|info|warn|fail|crit): |level=)`)

// continuation matches a line at the margin that continues an event: a closing bracket, a frame, or the title of a
// cause. Java, Python, JavaScript, Go, .NET, Ruby, PHP and Rust have titles of their own.
var continuation = regexp.MustCompile(`^("?[}\])]|at |#\d+ [/{[]|-{3}|<-{2}|\.\.\. |\(\d+\) |\(Inner ` +
	`|(?i:(root |original )?causes?( by)?:|(caused|wrapped) by\b|wraps:|error types:|suppressed:|stack ?trace\b|(inner|original|previous) ?(exception|error)?:)` +
	`|\[(cause|errors?|stacktrace|previous exception)\]|The above exception was |During handling of the above |Next \S)`)

// traceback matches the first line of Python's stack, which package rich prints in a box.
var traceback = regexp.MustCompile(`^((  \+ Exception Group )?Traceback \(most recent call last\):|╭─+ Traceback \(most recent call last\))`)

// titled matches a line that begins with the class of an exception.
var titled = regexp.MustCompile(`^((Exception in thread "[^"]*"|Uncaught|Unhandled exception\.|PHP Fatal error:|Fatal error:) +)*[\w.$\\:]*(Exception|Error|Errors::\w+)\b`)

// rubyError matches the first line of Ruby's error.
var rubyError = regexp.MustCompile(`^\S+?:\d+:in `)

// endOfMessage is the last field of a log event in the output of aws logs.
const endOfMessage = `            "ingestionTime":`

// eventLines recognizes the lines of one event of a log: a logger's line or an exception, with its stack and its causes.
type eventLines struct {
	logged  bool   // the first line is a logger's
	throws  bool   // the first line names a throttle
	titled  bool   // a line begins with an exception's class
	stack   bool   // a line is indented
	tracing bool   // Python's stack has begun, and its exception has not come
	ruby    string // position of the first error of Ruby
	last    string // newest line that is not blank
}

// text returns a line of the program's output.
func text(line string) string {
	var kept struct{ Log string }
	if strings.HasPrefix(line, inJSON) && json.Unmarshal([]byte(line), &kept) == nil {
		line = kept.Log
	}
	return strings.TrimRight(line[len(transport.FindString(line)):], " \t\r\n")
}

// has reports whether a line belongs to the event.
func (e *eventLines) has(line string, throws bool) bool {
	switch {
	case line == "":
		return true
	case traceback.MatchString(line):
		return !e.stack || strings.HasSuffix(e.last, "exception:") || strings.HasSuffix(e.last, "exception occurred:")
	case strings.HasPrefix(e.last, endOfMessage):
		return false
	case indented(line), continuation.MatchString(line):
		return true
	case logged.MatchString(line):
		return false
	case e.tracing, strings.HasSuffix(e.last, ":"):
		return true
	case strings.HasPrefix(line, "{"):
		return false
	case rubyError.MatchString(line) && strings.HasPrefix(e.last, "\tfrom "):
		return rubyError.FindString(line) != e.ruby
	case titled.MatchString(line):
		return !e.stack && !e.titled && (e.logged || e.announces(line))
	}
	return e.logged && (!throws || e.throws && !e.stack)
}

// announces reports whether the newest line ends with the class or the message of an exception, whose line follows.
func (e *eventLines) announces(line string) bool {
	class := titled.FindString(line)
	message := strings.TrimPrefix(line[len(class):], ": ")
	return strings.HasSuffix(e.last, ": "+class) || message != "" && strings.HasSuffix(e.last, message)
}

// add adds a line to the event.
func (e *eventLines) add(line string, throws bool) {
	if line == "" {
		return
	}
	margin := !indented(line)
	if e.last == "" {
		e.logged, e.throws = logged.MatchString(line), throws
	}
	e.stack = e.stack || !margin
	e.titled = e.titled || titled.MatchString(line)
	if margin || strings.HasPrefix(line, "╭") {
		e.tracing = traceback.MatchString(line)
	}
	if e.ruby == "" {
		e.ruby = rubyError.FindString(line)
	}
	e.last = line
}

// frame matches a line of a stack: it is indented, in a box, or marked by Python's package loguru.
var frame = regexp.MustCompile(`^([ \t│╭╰]|> File ")`)

func indented(line string) bool { return frame.MatchString(line) }
