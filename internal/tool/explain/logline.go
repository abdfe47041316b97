package explain

import (
	"regexp"
	"strings"
)

// logLine is a line of a log.
type logLine struct {
	text            string // without what log collectors and loggers put before it
	headed          bool   // whether a logger's time or level was before the text
	collectorSource string // name of the container or process, by what a log collector put before the text; "" for unknown
	source          string // collectorSource, with the names of thread and request in the header
}

// transports match what log collectors put before each line. A group is the name of the line's source.
var transports = []*regexp.Regexp{
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP](?: |$)`),                                                      // Kubernetes
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z(?: |$)`),                                                                              // Docker
	regexp.MustCompile(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)) (?:\S+ )?([^\s:]*\[[\w.-]+\]):(?: |$)`), // syslog
	regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (\d{4}/\d\d/\d\d/\[\S+) `),                                                        // aws logs tail
	regexp.MustCompile(`^\[(pod/[\w./-]+)\](?: |$)`),                                                                                                  // kubectl
	regexp.MustCompile(`^\[?((?:pod/)?[\w./-]+[-_#]\w*\d\w*|\d+\|[\w.-]+)\]? +\|(?: |$)`),                                                             // compose
}

// headTime, headLevel and headName match the words of a logger's header: times, levels, and names of threads and requests.
var (
	headTime = regexp.MustCompile(`^[\["(]{0,2}(?:(?:time|ts|t)=)?["\[]?(?:` +
		`\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?` +
		`|\d\d?[-/.](?:\d\d?|[A-Z][a-z]{2})[-/.]\d{2,4}(?:,? \d\d?:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?(?: UTC)?)?` +
		`|\d\d:\d\d:\d\d(?:[.,]\d+)?|\d{10}(?:\d{3}|\.\d+)?\b` +
		`|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+(?:,? \d{4})?(?:,? \d\d?:\d\d:\d\d(?:[.,]\d+)?)?(?: [AP]M)?` +
		`|[IWEF]\d{4} \d\d:\d\d:\d\d(?:\.\d+ +\d+)?)(?: #\d+)?[\])"]{0,2}`)
	headLevel = regexp.MustCompile(`^(?:[DIWEFA], |[\["]?(?:[\w-]+\.)?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|SEVERE|FATAL)\b[\]":]{0,2}|(?:trce|dbug|info|warn|fail|crit): |level=\w+)`)
	headName  = regexp.MustCompile(`^(?:\[([^\[\]]{1,80})\]|[(<{]([\w.:#-]*\d[\w.:#-]*)[)>}]|([0-9a-f]{8}-[0-9a-f-]{27})\b|((?:thread|tid|goroutine|gid|worker|task|req(?:uest)?(?:_?id)?|trace_?id)[ =#:-]?[\w.-]*\d[\w.-]*)[:|]? )`)
)

// headSeparators are the characters between the words of a header, and after them.
const headSeparators = " \t|,-:"

// cutTransport returns a line without what log collectors put before it, and the name of its source, or "".
func cutTransport(text string) (rest, source string) {
	for _, t := range transports {
		if found := t.FindStringSubmatch(text); found != nil {
			rest, inner := cutTransport(text[len(found[0]):])
			return rest, strings.Join(found[1:], "") + inner
		}
	}
	return text, ""
}

// parseLine separates a line's text from the logger's header before it. The text of a stack's line keeps its indentation.
func parseLine(text, collectorSource string) logLine {
	line := logLine{text: text, collectorSource: collectorSource, source: collectorSource}
	if indented(text) || continuation.MatchString(text) {
		return line
	}
	rest, found := line.readHead(text)
	for found {
		line.text = strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")
		rest = strings.TrimLeft(rest, headSeparators)
		if line.headed && !frameText.MatchString(line.text) {
			line.text = rest
		}
		rest, found = line.readHead(rest)
	}
	return line
}

// readHead reads the first word of a header, and returns the text after it. found is false if the text has no header.
func (l *logLine) readHead(text string) (rest string, found bool) {
	for _, head := range []*regexp.Regexp{headTime, headLevel} {
		if word := head.FindString(text); word != "" {
			l.headed = true
			return text[len(word):], true
		}
	}
	match := headName.FindStringSubmatch(text)
	if match == nil {
		return text, false
	}
	l.source += " " + strings.Join(match[1:], "")
	return text[len(match[0]):], true
}

// frameText matches a line of a stack after a logger's header, where the indentation says little.
var frameText = regexp.MustCompile(`^(\s*(at \S|File ".*", line \d|\.\.\. \d+ (more|common)|#\d+ [/{[]|from \S+:\d+:in )| {4,}\S)`)

// continued returns the text without the rest of a logger's header, such as a logger's name before a hyphen, colon or bar,
// if the text continues an exception. Otherwise it returns the whole text and false.
func (l *logLine) continued() (text string, continues bool) {
	text = l.text
	for range maxHeadWords {
		if frameText.MatchString(text) || continuation.MatchString(text) || traceback.MatchString(text) {
			return text, true
		}
		word := headWord.FindString(text)
		if word == "" {
			break
		}
		text = text[len(word):]
	}
	return l.text, false
}

// headWord matches a word of a header with the separator after it.
var headWord = regexp.MustCompile(`^\S+ (-|:|\|) `)

// maxHeadWords bounds the words that continued cuts.
const maxHeadWords = 4
