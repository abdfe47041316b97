package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/load"
)

func TestParseLogLine(t *testing.T) {
	at := time.Date(2015, 5, 17, 8, 5, 3, 0, time.UTC)
	for name, c := range map[string]struct {
		line string
		want load.Request
	}{
		"combined": {goodLine, load.Request{Time: at, Client: "10.0.0.1", Method: "GET", Path: "/a b?c=1", Status: 200, Bytes: 12}},
		"common, no bytes": {
			`::1 - - [17/May/2015:08:05:03 +0000] "HEAD / HTTP/1.0" 304 -`,
			load.Request{Time: at, Client: "::1", Method: "HEAD", Path: "/", Status: 304},
		},
		"user with a space, cut agent": {
			`c id John Doe [17/May/2015:08:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla`,
			load.Request{Time: at, Client: "c", Method: "GET", Path: "/", Status: 200, Bytes: 1},
		},
		"escapes": {
			`c - - [17/May/2015:08:05:03 +0000] "GET /\"a\"\\\t\x41\xc3\xa9\q\x4 HTTP/1.1" 200 1`,
			load.Request{Time: at, Client: "c", Method: "GET", Path: "/\"a\"\\\tAé\\q\\x4", Status: 200, Bytes: 1},
		},
		"no request": {
			`c - - [17/May/2015:08:05:03 +0000] "-" 408 -`,
			load.Request{Time: at, Client: "c", Method: "-", Path: "-", Status: 408},
		},
		"handshake": {
			`c - - [17/May/2015:08:05:03 +0000] "\x16\x03\x01" 400 226`,
			load.Request{Time: at, Client: "c", Method: "-", Path: "\x16\x03\x01", Status: 400, Bytes: 226},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := load.ParseLogLine(c.line)
			require.NoError(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseLogLineNamesTheField(t *testing.T) {
	const head = `c - - [17/May/2015:08:05:03 +0000] `
	for line, want := range map[string]string{
		"":                             "client: ",
		" c":                           "client: ",
		"c":                            "time: want it in brackets",
		`c - - "GET / HTTP/1.1" 200 1`: "time: want it in brackets",
		`c - - [17/May/2015:08:05:03`:  "time: want it in brackets",
		`c - - [2015-05-17] "-" 1 1`:   `time "2015-05-17": want the form`,
		`c - - [31/Dec/9999:23:59:59 -0100] "-" 100 1`: "in UTC its year",
		head + `GET`:                "request: want an opening quote",
		head + `"GET / HTTP/1.1`:    "request: the closing quote is missing",
		head + `"GET / HTTP/1.1\"`:  "request: the closing quote is missing",
		head + `"-"`:                "bytes: the line ends before the status and the bytes",
		head + `"-" 200`:            "bytes: the line ends before the status and the bytes",
		head + `"-" OK 1`:           `status "OK"`,
		head + `"-" -20 1`:          `status "-20"`,
		head + `"-" 2000 1`:         `status "2000"`,
		head + `"-" 200 many`:       `bytes "many"`,
		head + `"-" 200 -1`:         `bytes "-1"`,
		head + `"-" 200 1e9 "" "x"`: `bytes "1e9"`,
	} {
		if _, err := load.ParseLogLine(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseLogLine(%q) = %v, want %q", line, err, want)
		}
	}
}

// TestName checks that a text which is no valid name is replaced by its hash.
func TestName(t *testing.T) {
	const digest = "sha256:"
	for text, hashed := range map[string]bool{
		"/": false, "/é#1": false, strings.Repeat("x", 512): false,
		"": true, strings.Repeat("x", 513): true, "a\nb": true, "\x7f": true, "\u0085": true, "\xff": true,
	} {
		name := load.APIName(text)
		if got := strings.HasPrefix(name, digest) && len(name) == len(digest)+64; got != hashed {
			t.Errorf("Name(%q) = %q, want hashed: %t", text, name, hashed)
		}
		if !hashed && name != text {
			t.Errorf("Name(%q) = %q, want it unchanged", text, name)
		}
	}
	if load.APIName("a\n") == load.APIName("a\r") {
		t.Error("two texts have the same name")
	}
}
