package explain

import (
	"regexp"
	"strings"
)

// logLine is a line of a log.
type logLine struct {
	text   string // without what transports and loggers put before it
	headed bool   // a logger's time or level was before it
	source string // what was before it and names who wrote it: a container, process, thread or request; "" for unknown
}

// transports match what programs that collect logs put before each line, with a group for the name of the line's source.
var transports = []*regexp.Regexp{
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP](?: |$)`),                                                     // Kubernetes
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z(?: |$)`),                                                                             // Docker
	regexp.MustCompile(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) (?:\S+ )?([^\s:]*\[[\w.-]+\]):(?: |$)`), // syslog
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (\d{4}/\d\d/\d\d/\[\S+) `),                                                       // aws logs tail
	regexp.MustCompile(`^\[?((?:pod/)?[\w./-]+[-_#]\w*\d\w*)\]? +\|(?: |$)`),                                                                         // compose
}

// The words of a logger's header: times, levels, and names of threads and requests.
var (
	headTime = regexp.MustCompile(`^[\["(]{0,2}(?:(?:time|ts|t)=)?["\[]?(?:` +
		`\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?` +
		`|\d\d?[-/.](?:\d\d?|[A-Z][a-z]{2})[-/.]\d{2,4}(?:,? \d\d?:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?(?: UTC)?)?` +
		`|\d\d:\d\d:\d\d(?:[.,]\d+)?|\d{10}(?:\d{3}|\.\d+)?\b` +
		`|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+(?:,? \d{4})?(?:,? \d\d?:\d\d:\d\d(?:[.,]\d+)?)?(?: [AP]M)?` +
		`|[IWEF]\d{4} \d\d:\d\d:\d\d(?:\.\d+)?)(?: #\d+)?[\])"]{0,2}`)
	headLevel = regexp.MustCompile(`^(?:[DIWEFA], |[\["]?(?:[\w-]+\.)?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|SEVERE|FATAL)\b[\]":]{0,2}|(?:trce|dbug|info|warn|fail|crit): |level=\w+)`)
	headName  = regexp.MustCompile(`^(?:\[([^\[\]]{1,80})\]|[(<{]([\w.:#-]*\d[\w.:#-]*)[)>}]|([0-9a-f]{8}-[0-9a-f-]{27})\b|((?:thread|tid|goroutine|gid|worker|task|req(?:uest)?(?:_?id)?|trace_?id)[ =#:-]?[\w.-]*\d[\w.-]*)[:|]? )`)
)

// headSeparators are between the words of a header, and after them.
const headSeparators = " \t|,-:"

// cutTransport returns a line without what a collector put before it, and the name of its source.
func cutTransport(text string) (rest, source string) {
	for _, t := range transports {
		if found := t.FindStringSubmatch(text); found != nil {
			return text[len(found[0]):], strings.Join(found[1:], "")
		}
	}
	return text, ""
}

// parseLine separates a line of a source from the header before it. The text keeps its indentation.
func parseLine(text, source string) logLine {
	l := logLine{text: text, source: source}
	if indented(text) || continuation.MatchString(text) {
		return l
	}
	rest, ok := l.readHead(text)
	for ok {
		l.text = strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")
		rest = strings.TrimLeft(rest, headSeparators)
		if l.headed && !frameText.MatchString(l.text) {
			l.text = rest
		}
		rest, ok = l.readHead(rest)
	}
	return l
}

// readHead reads the first word of a header, and returns what is after it.
func (l *logLine) readHead(text string) (rest string, ok bool) {
	for _, head := range []*regexp.Regexp{headTime, headLevel} {
		if found := head.FindString(text); found != "" {
			l.headed = true
			return text[len(found):], true
		}
	}
	found := headName.FindStringSubmatch(text)
	if found == nil {
		return text, false
	}
	l.source += " " + strings.Join(found[1:], "")
	return text[len(found[0]):], true
}

// frameText matches a line of a stack that a logger printed after a header, where the indentation says little.
var frameText = regexp.MustCompile(`^(\s*(at \S|File ".*", line \d|\.\.\. \d+ (more|common)|#\d+ [/{[]|from \S+:\d+:in )| {4,}\S)`)

// continued returns the text after a logger's header if it continues an exception that began before it. What is left of
// the header, such as a logger's name, ends with a hyphen, a colon or a bar.
func (l *logLine) continued() (text string, ok bool) {
	text = l.text
	for range maxHeadWords {
		if frameText.MatchString(text) || continuation.MatchString(text) || traceback.MatchString(text) {
			return text, true
		}
		at := headEnd.FindStringIndex(text)
		if at == nil {
			break
		}
		text = text[at[1]:]
	}
	return l.text, false
}

// headEnd matches what is between a word of a header and the next.
var headEnd = regexp.MustCompile(`^\S+ (-|:|\|) `)

const maxHeadWords = 4
