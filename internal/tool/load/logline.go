package load

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LogTimeLayout is the layout of a time in an access log.
const LogTimeLayout = "02/Jan/2006:15:04:05 -0700"

// ParseLogLine parses one line of the combined log format,
//
//	client ident user [time] "request" status bytes "referer" "user agent"
//
// The last two fields may be absent, as in the common log format. They are not checked: real logs have truncated user
// agents. ParseLogLine replaces the request's escapes (\", \\, \n, \t, \xhh and so on). The returned request has no ID.
// Errors name the field.
func ParseLogLine(line string) (Request, error) {
	rest := line
	client, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, " ") // ident
	if client == "" {
		return Request{}, errors.New("client: the line starts with a space")
	}
	// A user's name may have spaces: the time follows the first " [".
	_, rest, ok := strings.Cut(rest, " [")
	stamp, rest, closed := strings.Cut(rest, "] ")
	if !ok || !closed {
		return Request{}, errors.New("time: want it in brackets after client, ident and user")
	}
	at, err := parseTime(stamp)
	if err != nil {
		return Request{}, err
	}
	request, rest, err := cutQuoted(rest)
	if err != nil {
		return Request{}, fmt.Errorf("request: %w", err)
	}
	status, bytes, err := parseStatus(rest)
	if err != nil {
		return Request{}, err
	}
	method, path := parseRequest(request)
	return Request{Time: at, Client: client, Method: method, Path: path, Status: status, Bytes: bytes}, nil
}

// parseTime returns the time of a log's time stamp, in UTC.
func parseTime(stamp string) (time.Time, error) {
	at, err := time.Parse(LogTimeLayout, stamp)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: want the form %s", stamp, LogTimeLayout)
	}
	// In UTC the year may be outside of RFC 3339's range.
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}, fmt.Errorf("time %q: in UTC its year is not 1 to 9999", stamp)
	}
	return at, nil
}

// parseStatus parses ` status bytes` at the start of a text.
func parseStatus(text string) (status int, bytes int64, err error) {
	fields := strings.SplitN(strings.TrimPrefix(text, " "), " ", 3)
	if len(fields) < 2 {
		return 0, 0, errors.New("bytes: the line ends before the status and the bytes")
	}
	status, err = strconv.Atoi(fields[0])
	if err != nil || len(fields[0]) != 3 || status < 0 {
		return 0, 0, fmt.Errorf("status %q: want three digits", fields[0])
	}
	if fields[1] == "-" {
		return status, 0, nil
	}
	bytes, err = strconv.ParseInt(fields[1], 10, 64)
	if err != nil || bytes < 0 {
		return 0, 0, fmt.Errorf("bytes %q: want a whole number or -", fields[1])
	}
	return status, bytes, nil
}

// parseRequest splits "GET /path HTTP/1.1". A path may have spaces. Text in another form, such as "-" or a TLS
// handshake, is returned as the path, with the method "-".
func parseRequest(request string) (method, path string) {
	method, rest, ok := strings.Cut(request, " ")
	at := strings.LastIndex(rest, " HTTP/")
	if !ok || method == "" || at < 1 {
		return "-", request
	}
	return method, rest[:at]
}

// cutQuoted returns the unescaped quoted field at the start of text, and the text after its closing quote.
func cutQuoted(text string) (field, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", errors.New("want an opening quote")
	}
	var unescaped strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return unescaped.String(), text[i+1:], nil
		case '\\':
			char, size := unescape(text[i+1:])
			unescaped.WriteByte(char)
			i += size
		default:
			unescaped.WriteByte(text[i])
		}
	}
	return "", "", errors.New("the closing quote is missing")
}

// unescape returns the byte that an escape stands for, and the escape's length. text begins after the backslash. An unknown
// escape is a literal backslash of length 0.
func unescape(text string) (char byte, size int) {
	if text == "" {
		return '\\', 0
	}
	if at := strings.IndexByte(`"\nrtbvf`, text[0]); at >= 0 {
		return "\"\\\n\r\t\b\v\f"[at], 1
	}
	if text[0] == 'x' && len(text) >= 3 {
		if n, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			return byte(n), 3
		}
	}
	return '\\', 0
}
