package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"time"
	"unicode/utf8"
)

// Request is one request to a web server: an event of its client, an increment of
// its path's counter, and its bytes as a score of its client.
type Request struct {
	Time   time.Time // UTC; zero in a generated request, which happens when it is sent
	Client string    // address or name, as the log has it
	Method string    // "-" where the log has no well-formed request line
	Path   string    // with its query; the whole request line where that is not well-formed
	Status int       // 0 to 999
	Bytes  int64     // of the answer's body; 0 where the log has "-"
	ID     string    // no two requests of a source have the same
}

// Entity is the name under which the request's event is kept: see [Name].
func (r Request) Entity() string { return Name(r.Client) }

// Counter is the name of the counter that the request raises: see [Name].
func (r Request) Counter() string { return Name(r.Path) }

// Player is the name under which the request's bytes are a score: see [Name].
func (r Request) Player() string { return Name(r.Client) }

// Data is what a request's event carries.
type Data struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Bytes  int64  `json:"bytes"`
}

// Data returns the event's data. JSON holds no malformed UTF-8, so such bytes
// are replaced by U+FFFD here and arrive as they were sent.
func (r Request) Data() Data {
	const replacement = "\uFFFD"
	return Data{
		Method: strings.ToValidUTF8(r.Method, replacement),
		Path:   strings.ToValidUTF8(r.Path, replacement),
		Status: r.Status,
		Bytes:  r.Bytes,
	}
}

// maxName is the longest name the API takes, in bytes.
const maxName = 512

// Name turns any text into a name that the API takes: 1 to 512 bytes of UTF-8
// without control characters. Such text is its own name. Other text gets the
// name "sha256:" and the 64 hex digits of its SHA-256 digest, always the same.
func Name(text string) string {
	if nameable(text) {
		return text
	}
	digest := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(digest[:])
}

func nameable(text string) bool {
	control := func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
	return text != "" && len(text) <= maxName && utf8.ValidString(text) && !strings.ContainsFunc(text, control)
}

// Source is a workload that can be gone through more than once, with the same
// requests each time.
type Source struct {
	Name  string // what it is, for people
	Total int    // number of requests
	Timed bool   // the requests carry their own times
	Seed  uint64 // 0 for a log

	// Requests yields the requests in order. An error ends the sequence.
	Requests func() iter.Seq2[Request, error]
}
