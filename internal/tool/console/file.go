package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// FileInfo describes a page that is a file.
type FileInfo struct {
	Made     time.Time `json:"made"`
	Coverage string    `json:"coverage"` // sentences on how much of the time was read, and what that means for the figures
}

// Bounds of a file.
const (
	maxRows  = 256            // rows of the table's map, and of each index's map
	maxSince = 24 * time.Hour // the longest time of GET /v1/hot-keys
	maxBytes = 8 << 20        // if the file is larger, each map gets half as many rows
)

// File returns the console's page as one HTML file that makes no request. The file contains the answers to the page's calls
// for the time between from and to. api must have GET /v1/heat and GET /v1/hot-keys. The file has at most 8 MB, unless a
// single row of each map has more. File returns the error of the first call that fails.
func File(ctx context.Context, api http.Handler, about About, from, to time.Time) ([]byte, error) {
	recorded := &recorder{ctx: ctx, handler: Handler(api, about), from: from, to: to, answers: map[string]json.RawMessage{}}
	if err := recorded.get("/console/about", "", nil); err != nil {
		return nil, err
	}
	since := min(to.Sub(from), maxSince).String()
	if err := recorded.get("/v1/hot-keys", "", url.Values{"since": {since}, "limit": {"20"}}); err != nil {
		return nil, err
	}
	for rows := maxRows; ; rows /= 2 {
		indexes, err := recorded.getHeat("", rows)
		for _, index := range indexes {
			if err == nil {
				_, err = recorded.getHeat(index, rows)
			}
		}
		if err != nil {
			return nil, err
		}
		page, err := htmlFile(recorded.answers)
		if err != nil || len(page) <= maxBytes || rows == 1 {
			return page, err
		}
	}
}

// recorder makes the page's calls and records the answers.
type recorder struct {
	ctx      context.Context
	handler  http.Handler
	from, to time.Time
	answers  map[string]json.RawMessage // by answerID
}

// getHeat records an index's heat, the table's for "", in at most this many rows. It returns the indexes with writes.
func (r *recorder) getHeat(index string, rows int) (indexes []string, err error) {
	query := url.Values{"group": {"base"}, "rows": {strconv.Itoa(rows)}, "from": {r.from.Format(time.RFC3339)}, "to": {r.to.Format(time.RFC3339)}}
	if err := r.get("/v1/heat", index, query); err != nil {
		return nil, err
	}
	var heat struct{ Indexes []string }
	if err := json.Unmarshal(r.answers[answerID("/v1/heat", index)], &heat); err != nil {
		return nil, fmt.Errorf("decoding the answer of GET /v1/heat: %w", err)
	}
	return heat.Indexes, nil
}

// answerID returns the name under which the page finds an answer in the file: see web/src/api.ts.
func answerID(path, index string) string {
	if index == "" {
		return path
	}
	return path + "?index=" + index
}

// get calls the handler and records its answer. index is "" for the table.
func (r *recorder) get(path, index string, query url.Values) error {
	if index != "" {
		query.Set("index", index)
	}
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response := &memoryResponse{header: http.Header{}}
	r.handler.ServeHTTP(response, request)
	if response.status > http.StatusOK {
		return fmt.Errorf("GET %s: status %d: %s", path, response.status, bytes.TrimSpace(response.body.Bytes()))
	}
	r.answers[answerID(path, index)] = response.body.Bytes()
	return r.ctx.Err()
}

// memoryResponse is an http.ResponseWriter in memory. A status of 0 is 200.
type memoryResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (m *memoryResponse) Header() http.Header         { return m.header }
func (m *memoryResponse) WriteHeader(status int)      { m.status = status }
func (m *memoryResponse) Write(b []byte) (int, error) { return m.body.Write(b) }

// htmlFile returns the page with its script, style, licences and answers inside.
func htmlFile(answers map[string]json.RawMessage) ([]byte, error) {
	// Marshal escapes <, >, & and line separators, so that no key can end the script element.
	data, err := json.Marshal(answers)
	if err != nil {
		return nil, fmt.Errorf("encoding the answers to the page's calls: %w", err)
	}
	script, style := asset("dist/console.js"), asset("dist/console.css")
	page := string(asset("web/src/index.html"))
	for _, replacement := range [][2]string{
		{`<meta charset="utf-8">`, fmt.Sprintf(`<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'">`, cspHash(script), cspHash(style))},
		{`<link rel="stylesheet" href="/console/console.css">`, "<style>" + string(style) + "</style>"},
		{`<script src="/console/console.js" defer></script>`, ""},
		{`</body>`, fmt.Sprintf(`<details class="licences"><summary>Licences of the packages in the script</summary><pre tabindex="0">%s</pre></details>
<script type="application/json" id="data">%s</script>
<script>%s</script>
</body>`, html.EscapeString(string(asset("dist/LICENSES.txt"))), data, script)},
	} {
		old, text := replacement[0], replacement[1]
		before, after, found := strings.Cut(page, old)
		if !found {
			panic("index.html has no " + old)
		}
		page = before + text + after
	}
	return []byte(page), nil
}

// cspHash returns the Content-Security-Policy source of a script or style.
func cspHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
