package throttle

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

	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// lenient accepts what the engine accepts; only the engine rejects requests.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), itemCodec)

// decode decodes JSON and reports whether that succeeded.
func decode(text []byte, into any) bool { return json.Unmarshal(text, into, lenient) == nil }

// encode returns the JSON of a value that was decoded, or consists of texts and numbers. It panics for other values.
func encode(v any) []byte {
	text, err := json.Marshal(v, lenient, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return text
}

// quoted returns a JSON string of plain letters.
func quoted(word string) jsontext.Value { return jsontext.Value(`"` + word + `"`) }

// call is one request on its way through the limiter.
type call struct {
	l         *Limiter
	req       *http.Request // the caller's
	operation string
	body      []byte
}

// forward sends an admitted request with some members changed. It requests the consumed capacity that the caller or the
// limiter wants. Without a response the engine may have applied the request, so the reserved charges count as actual.
func (c *call) forward(changed object, report capacityReport, reserved []partitions.Charge) (*reply, error) {
	report.requestIn(changed)
	r, err := c.send(changed)
	if err != nil {
		c.settleCharges(reserved, reserved)
	}
	return r, err
}

// settleCharges replaces the charges reserved at admission by the actual charges, and adds these to the statistics.
func (c *call) settleCharges(reserved, actual []partitions.Charge) {
	c.l.gate.Settle(reserved, actual)
	c.l.mu.Lock()
	for _, charge := range actual {
		c.l.stats.countCharge(charge)
	}
	c.l.mu.Unlock()
}

// passThrough forwards the request unchanged.
func (c *call) passThrough() (*http.Response, error) {
	return c.l.options.Base.RoundTrip(c.request(c.operation, c.body))
}

// request returns the caller's request with this operation and body. Its credentials stay: they may select a database.
func (c *call) request(operation string, body []byte) *http.Request {
	req := c.req.WithContext(c.req.Context())
	req.Header = maps.Clone(req.Header) // shares the values, which stay unchanged
	req.Header.Set("X-Amz-Target", targetPrefix+operation)
	req.Header.Del("Content-Length")
	req.ContentLength = int64(len(body))
	req.TransferEncoding = nil
	if len(body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
		return req
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody() // GetBody has no error
	return req
}

// send sends the request with some members changed, and returns the engine's response.
func (c *call) send(changed object) (*reply, error) {
	body := c.body
	if len(changed) > 0 {
		d, _ := newDocument(body) // the body is an object: it was decoded before
		body = d.with(changed)
	}
	return c.sendBody(c.operation, body)
}

// askEngine sends a request that the caller did not make, such as a DescribeTable, and returns the response.
func (c *call) askEngine(operation string, members any) (*reply, error) {
	return c.sendBody(operation, encode(members))
}

func (c *call) sendBody(operation string, body []byte) (*reply, error) {
	req := c.request(operation, body)
	req.Header.Set("Accept-Encoding", "identity") // the response must not be compressed
	resp, err := c.l.options.Base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return readReply(resp)
}

// maxReply exceeds the largest response, BatchGetItem's 16 MB, with JSON's overhead.
const maxReply = 128 << 20

// reply is a response of the engine.
type reply struct {
	resp     *http.Response
	document        // the body
	changed  object // members that differ in the response to the caller; nil for a removed one
}

func readReply(resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	body, err := readAll(resp.Body, resp.ContentLength, maxReply+1)
	if err == nil && len(body) > maxReply {
		err = fmt.Errorf("the body is longer than %d bytes", maxReply)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the engine's response: %w", err)
	}
	d, _ := newDocument(body) // a response that is no object has no members
	d.text = body
	return &reply{resp, d, object{}}, nil
}

// readAll reads a text of size bytes; a shorter text is an error. It reads to the end, but at most limit bytes, if size
// is 0 or less (unknown) or more than limit.
func readAll(from io.Reader, size, limit int64) ([]byte, error) {
	if size <= 0 || size > limit {
		return io.ReadAll(io.LimitReader(from, limit))
	}
	text := make([]byte, size)
	_, err := io.ReadFull(from, text)
	return text, err
}

func (r *reply) ok() bool { return r.resp.StatusCode == http.StatusOK }

// exception returns the name of the engine's exception, "unknown" for another error, or "" for a success.
func (r *reply) exception() string {
	if r.ok() {
		return ""
	}
	e := struct {
		Type string `json:"__type"`
	}{"unknown"}
	decode(r.text, &e)
	return e.Type[strings.LastIndexByte(e.Type, '#')+1:]
}

func (r *reply) removeMember(name string) {
	if r.member(name) != nil {
		r.changed[name] = nil
	}
}

func (r *reply) setMember(name string, value any) { r.changed[name] = encode(value) }

// response returns the caller's response, without unasked capacity, and with a new checksum if it was changed.
func (r *reply) response(report capacityReport) (*http.Response, error) {
	if err := report.hideUnasked(r); err != nil {
		return nil, err
	}
	body := r.with(r.changed)
	if len(r.changed) > 0 {
		r.resp.Header.Set("X-Amz-Crc32", checksum(body))
	}
	setBody(r.resp, body)
	return r.resp, nil
}

func setBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.TransferEncoding = nil
}

func checksum(body []byte) string {
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
}
