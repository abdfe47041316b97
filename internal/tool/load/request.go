package load

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"time"
	"unicode/utf8"
)

// Request is one request to a web server: an event of its client, and an increment of its path's counter.
type Request struct {
	Time   time.Time // UTC; zero in a generated request, whose time is when it is sent
	Client string    // address or name, as the log has it
	Method string    // "-" if the log has no well-formed request line
	Path   string    // with its query; the whole request line if it is malformed
	Status int       // 0 to 999
	Bytes  int64     // of the response's body; 0 if the log has "-"
	ID     string    // unique in a source
}

// Entity returns the name of the event's entity: see [APIName].
func (r Request) Entity() string { return APIName(r.Client) }

// Counter returns the name of the counter: see [APIName].
func (r Request) Counter() string { return APIName(r.Path) }

// EventData is the data of a request's event.
type EventData struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Bytes  int64  `json:"bytes"`
}

// Data returns the event's data. It replaces malformed UTF-8 by U+FFFD, since JSON can't hold it.
func (r Request) Data() EventData {
	const replacement = "\uFFFD"
	return EventData{
		Method: strings.ToValidUTF8(r.Method, replacement),
		Path:   strings.ToValidUTF8(r.Path, replacement),
		Status: r.Status,
		Bytes:  r.Bytes,
	}
}

// maxName is the API's maximum length of a name, in bytes.
const maxName = 512

// APIName returns text if it is a valid name for the API: 1 to 512 bytes of UTF-8 without control characters. For other
// text it returns "sha256:" and the 64 hex digits of the text's SHA-256 digest.
func APIName(text string) string {
	if isName(text) {
		return text
	}
	digest := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(digest[:])
}

func isName(text string) bool {
	control := func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
	return text != "" && len(text) <= maxName && utf8.ValidString(text) && !strings.ContainsFunc(text, control)
}

// Source is a workload that yields the same requests each time.
type Source struct {
	Name  string // description for people
	Total int    // number of requests; 0 for a ramp, which ends by time
	Timed bool   // the requests have their own times
	Seed  uint64 // 0 for a log

	// Requests yields the requests in order. It ends after an error.
	Requests func() iter.Seq2[Request, error]
}
