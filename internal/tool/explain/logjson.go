package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// record is a log event in JSON.
type record struct {
	text    string // names and values of its members, a line each
	line    string // the message
	hasLine bool   // whether it has a message, which may continue an event
	source  string // the values of members that name the thread, request or process
}

// The names of members with the message, with the writer's name, and with the event's time.
var (
	messageName = regexp.MustCompile(`(?i)^(@?message|msg|log|line|text(payload)?|event|body)$`)
	sourceName  = regexp.MustCompile(`(?i)^(thread.*|tid|goroutine|(aws_?)?request_?id|trace_?id|container.*|pod.*|@?logstream(name)?|pid|process)$`)
	timeName    = regexp.MustCompile(`(?i)^@?(time|(event|log|ingestion)?_?time(stamp)?|date(time)?|ts|created_?at)$`)
)

// recordsOf returns the log events of a text in JSON: the objects of its outermost array of objects with times, or else the
// whole object. It returns nil for another text.
func recordsOf(text string) (list []record) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		withoutComma := lastComma.ReplaceAll([]byte(text), []byte("$1"))
		if json.Unmarshal(withoutComma, &value) != nil {
			return nil
		}
	}
	elements, found := eventsIn(value, 0)
	if !found {
		elements = []any{value}
	}
	for _, e := range elements {
		if fields, ok := e.(map[string]any); ok {
			list = append(list, recordOf(fields))
		}
	}
	return list
}

// lastComma matches a comma after the last element, which people leave when they cut an output.
var lastComma = regexp.MustCompile(`,(\s*[}\]])`)

// maxNesting bounds the depth of values that flatten writes.
const maxNesting = 16

// eventsIn returns the elements of the outermost array whose objects have times, as in the output of tools that export
// logs. A text that is an array has only events. An object with a time is itself an event, and may contain arrays.
func eventsIn(value any, depth int) (elements []any, found bool) {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = joinFields(v[i])
		}
		haveTimes := slices.ContainsFunc(v, func(e any) bool { return hasTime(e, 0) })
		return v, len(v) > 0 && (depth == 0 || haveTimes)
	case map[string]any:
		if depth > 2 || slices.ContainsFunc(slices.Collect(maps.Keys(v)), timeName.MatchString) {
			return nil, false
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if elements, found = eventsIn(v[name], depth+1); found {
				return elements, true
			}
		}
	}
	return nil, false
}

// joinFields returns one object for a list of objects with a field and a value, such as a result of CloudWatch Logs
// Insights. It returns other values unchanged.
func joinFields(value any) any {
	list, _ := value.([]any)
	fields := map[string]any{}
	for _, e := range list {
		pair, _ := e.(map[string]any)
		if name, ok := pair["field"].(string); ok {
			fields[name] = pair["value"]
		}
	}
	if len(list) == 0 || len(fields) < len(list) {
		return value
	}
	return fields
}

// hasTime reports whether an object has a member with a time's name. At depth 0 it also looks at the objects in it.
func hasTime(value any, depth int) bool {
	fields, _ := value.(map[string]any)
	for name, v := range fields {
		if timeName.MatchString(name) || (depth == 0 && hasTime(v, 1)) {
			return true
		}
	}
	return false
}

// recordOf returns an object's members as a record.
func recordOf(fields map[string]any) (r record) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		if sourceName.MatchString(name) {
			r.source += fmt.Sprint(" ", value)
		}
		if s, ok := value.(string); ok && messageName.MatchString(name) {
			r.line, r.hasLine = strings.TrimRight(s, " \t\r\n"), true
		}
		text.WriteString(name + ": ")
		flatten(&text, value, 0)
		text.WriteByte('\n')
	}
	r.text = text.String()
	return r
}

// flatten writes a value as text, strings without quotes. A string that is JSON is written as its value.
func flatten(text *strings.Builder, value any, depth int) {
	if depth > maxNesting {
		return
	}
	switch v := value.(type) {
	case string:
		var inner any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
			flatten(text, inner, depth+1)
			return
		}
		text.WriteString(v)
	case []any:
		for _, e := range v {
			flatten(text, e, depth+1)
			text.WriteByte('\n')
		}
	case map[string]any:
		text.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text.WriteString(name + ": ")
			flatten(text, v[name], depth+1)
			text.WriteString(",\n")
		}
		text.WriteByte('}')
	default:
		fmt.Fprint(text, v)
	}
}

// document collects the lines of JSON that is printed on several lines. It begins and ends with a bracket at the margin.
type document struct {
	lines []string
	bytes int
}

// maxDocument is the number of bytes of a document that are kept. The lines of a longer document are read singly.
const maxDocument = 64 << 20

// isFirstLine reports whether a line may begin a document.
func (d *document) isFirstLine(line string) bool {
	opens := strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[")
	return line == "[" || (opens && strings.HasSuffix(line, "{"))
}

// add adds a line, and reports whether more lines belong to the document. The document ends with the next line at the
// margin, its closing bracket, or when it has maxDocument bytes.
func (d *document) add(line string) (more bool) {
	d.lines, d.bytes = append(d.lines, line), d.bytes+len(line)
	isFirst, isInside := len(d.lines) == 1, line == "" || indented(line)
	return isFirst || (isInside && d.bytes < maxDocument)
}
