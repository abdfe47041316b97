package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
)

// inline matches the scripts and styles in the page.
var inline = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// policyOf returns the Content-Security-Policy of the page at pagePath. It allows the page's files, its inline scripts
// and styles by hash, and calls of the API, so that injected markup can't run scripts.
func policyOf(page http.Handler) string {
	var text captured
	page.ServeHTTP(&text, &http.Request{Method: http.MethodGet, URL: pageURL})
	hashes := map[string]string{}
	for _, found := range inline.FindAllSubmatch(text.Bytes(), -1) {
		sum := sha256.Sum256(found[2])
		hashes[string(found[1])] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'" + hashes["script"], "style-src 'self'" + hashes["style"],
		"img-src 'self' data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

// captured keeps a response's body.
type captured struct {
	bytes.Buffer
	header http.Header
}

// Header returns headers that are not sent.
func (c *captured) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

// WriteHeader does nothing.
func (c *captured) WriteHeader(int) {}
