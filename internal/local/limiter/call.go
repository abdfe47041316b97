package limiter

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/local/partitions"
)

// object is a JSON object whose members keep their text.
type object map[string]jsontext.Value

// lenient takes what the engine takes; judging it is the engine's business.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// understood decodes JSON and tells whether that worked.
func understood(text []byte, into any) bool { return json.Unmarshal(text, into, lenient) == nil }

func encode(v any) ([]byte, error) { return json.Marshal(v, lenient) }

// quoted is a JSON string of plain letters.
func quoted(word string) jsontext.Value { return jsontext.Value(`"` + word + `"`) }

// call is one request on its way through the limiter.
type call struct {
	exchange
	l *Limiter
}

// forward sends a request that was admitted, with some members changed. Without an answer it
// has cost what was taken for it: the engine may have done it.
func (c *call) forward(changed object, tell capacity, taken []partitions.Charge) (*reply, error) {
	tell.ask(changed)
	r, err := c.send(changed)
	if err != nil {
		c.l.settle(c.operation, taken, taken)
	}
	return r, err
}

// exchange is a request of the caller's, and what can be asked of the engine and answered
// in its place.
type exchange struct {
	base      http.RoundTripper // to the engine
	req       *http.Request
	operation string
	body      []byte
}

// pass sends the request as it came.
func (e *exchange) pass() (*http.Response, error) {
	return e.base.RoundTrip(e.request(e.operation, e.body))
}

// request is the caller's with another operation and body. It keeps the
// caller's credentials, which may name a database.
func (e *exchange) request(operation string, body []byte) *http.Request {
	req := e.req.Clone(e.req.Context())
	req.Header.Set("X-Amz-Target", targetPrefix+operation)
	req.Header.Del("Content-Length")
	req.ContentLength = int64(len(body))
	req.TransferEncoding = nil
	if len(body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
		return req
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return req
}

// send sends the request with some members changed, and reads the answer.
func (e *exchange) send(changed object) (*reply, error) {
	var members object
	if err := json.Unmarshal(e.body, &members, lenient); err != nil {
		return nil, fmt.Errorf("reading %s: %w", e.operation, err)
	}
	maps.Copy(members, changed)
	return e.ask(e.operation, members)
}

// ask sends a request of the limiter's own making, and reads the answer.
func (e *exchange) ask(operation string, members any) (*reply, error) {
	body, err := encode(members)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", operation, err)
	}
	req := e.request(operation, body)
	req.Header.Set("Accept-Encoding", "identity") // so that the answer can be read
	resp, err := e.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return readReply(resp)
}

// maxReply is above the largest answers, BatchGetItem's 16 MB, with JSON's
// overhead.
const maxReply = 128 << 20

// reply is an answer of the engine.
type reply struct {
	resp    *http.Response
	body    []byte
	members object
	changed bool
}

func readReply(resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err == nil && len(body) > maxReply {
		err = fmt.Errorf("it has over %d bytes", maxReply)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the engine's answer: %w", err)
	}
	r := &reply{resp: resp, body: body}
	if !understood(body, &r.members) {
		r.members = nil
	}
	return r, nil
}

func (r *reply) ok() bool { return r.resp.StatusCode == http.StatusOK }

// exception is the short name of an error, "" of a success.
func (r *reply) exception() string {
	var e struct {
		Type string `json:"__type"`
	}
	if r.ok() || !understood(r.body, &e) {
		return ""
	}
	return e.Type[strings.LastIndexByte(e.Type, '#')+1:]
}

// remove takes a member out of the answer.
func (r *reply) remove(name string) {
	if _, ok := r.members[name]; ok {
		delete(r.members, name)
		r.changed = true
	}
}

// set replaces a member of the answer.
func (r *reply) set(name string, value any) error {
	text, err := encode(value)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	r.members[name], r.changed = text, true
	return nil
}

// response is the answer for the caller, with a new checksum if it was changed.
func (r *reply) response(tell capacity) (*http.Response, error) {
	if err := tell.hide(r); err != nil {
		return nil, err
	}
	if r.changed {
		body, err := encode(r.members)
		if err != nil {
			return nil, fmt.Errorf("writing the answer: %w", err)
		}
		r.body = body
		r.resp.Header.Set("X-Amz-Crc32", checksum(body))
	}
	setBody(r.resp, r.body)
	return r.resp, nil
}

func setBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.TransferEncoding = nil
	resp.Uncompressed = false
}

func checksum(body []byte) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
}
