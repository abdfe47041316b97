package throttle_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// control is a bench's proxy, which a browser or curl calls.
type control struct{ http.Handler }

func (b *bench) control(t *testing.T) control {
	target, err := url.Parse(enginetest.Endpoint(t))
	require.NoError(t, err)
	return control{b.Proxy(target)}
}

// call returns the status, the response's text, and the report if the status is 200.
func (c control) call(t *testing.T, method, path, body string, header ...string) (int, string, throttle.Report) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, req)
	text, err := io.ReadAll(w.Result().Body)
	require.NoError(t, err)
	var report throttle.Report
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(text, &report); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return w.Code, string(text), report
}

// halves returns keys in the lower and the upper half of all hashes.
func (b *bench) halves(t *testing.T) (low, high string) {
	t.Helper()
	two, err := throttle.New(throttle.Options{Partitions: 2, PartitionWCU: 1})
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		if two.Partition(key) == 0 {
			low = key
		} else {
			high = key
		}
	}
	return low, high
}

// TestReport checks that the report names the hot key and the remaining tokens, that a split halves the partitions, and that
// a reset clears the report.
func TestReport(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 2, PartitionWCU: 10, PartitionRCU: 7})
	c := b.control(t)
	low, high := b.halves(t)
	for range 5 {
		require.NoError(t, b.put(t, keyOf(low, "1")))
	}
	for range 10 + 90 { // 10 are admitted
		_ = b.put(t, keyOf(high, "1"))
	}
	code, text, got := c.call(t, "GET", "/_throttle", "")
	if code != http.StatusOK || len(got.Tables) != 2 || got.Since.IsZero() {
		t.Fatalf("%d %s", code, text)
	}
	wantEqual(t, "throttled keys", []throttle.Throttled{{Reason: "TableWriteKeyRangeThroughputExceeded", Table: tableName, Key: high, Count: 90}}, got.Throttled)
	table, index := got.Tables[0], got.Tables[1]
	if table.Index != "" || table.ARN != tableARN || table.AccessKey != b.key || table.WCU != 40_000 || table.RCU != 40_000 ||
		index.Index != byGroup || index.ARN != indexARN || len(index.Partitions) != 2 {
		t.Errorf("got %+v", got.Tables)
	}
	want := []throttle.Partition{
		{Number: 0, From: "0000000000000000", To: "7fffffffffffffff", Levels: throttle.Levels{WCU: 10, WriteTokens: 5, RCU: 7, ReadTokens: 7}},
		{Number: 1, From: "8000000000000000", To: "ffffffffffffffff", Levels: throttle.Levels{WCU: 10, WriteTokens: 0, RCU: 7, ReadTokens: 7}},
	}
	wantEqual(t, "the table's partitions", want, table.Partitions)

	code, text, got = c.call(t, "POST", "/_throttle/split", `{"table":"limited"}`)
	if code != http.StatusOK || len(got.Tables[0].Partitions) != 4 || len(got.Tables[1].Partitions) != 2 || got.Tables[0].Partitions[0].To != "3fffffffffffffff" {
		t.Errorf("after a split: %d %s", code, text)
	}
	code, text, got = c.call(t, "POST", "/_throttle/split", `{"table":"limited","index":"by_group"}`)
	if code != http.StatusOK || len(got.Tables[0].Partitions) != 4 || len(got.Tables[1].Partitions) != 4 {
		t.Errorf("after a split of the index: %d %s", code, text)
	}
	for body, want := range map[string]string{
		`{"table":"none"}`:                      "ResourceNotFoundException",
		`{"table":"limited","index":"by_rank"}`: "ResourceNotFoundException", // a local index
		`{"table":7}`:                           "ValidationException",
		`{}`:                                    "ValidationException",
		`{"table":"limited","partition":0}`:     "ValidationException",
		`split`:                                 "ValidationException",
	} {
		if code, text, _ := c.call(t, "POST", "/_throttle/split", body); code/100 != 4 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", body, code, text, want)
		}
	}

	code, text, got = c.call(t, "POST", "/_throttle/reset", "")
	if code != http.StatusOK || len(got.Tables)+len(got.Throttled) != 0 {
		t.Errorf("after a reset: %d %s", code, text)
	}
	if count, _ := admitted(t, func() error { return b.put(t, keyOf(high, "1")) }); count != 10 {
		t.Errorf("%d writes admitted after a reset, want 10", count)
	}
	if _, _, got = c.call(t, "GET", "/_throttle", ""); len(got.Tables[0].Partitions) != 2 || got.Throttled[0].Count != 1 {
		t.Errorf("after a reset and 11 writes: %+v", got)
	}
}

// TestControlIsNotForPages checks that another site's page can't reset the limits, and that the engine gets no
// request below /_throttle.
func TestControlIsNotForPages(t *testing.T) {
	c := newBench(t, roomy).control(t)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://elsewhere.example"}} {
		if code, text, _ := c.call(t, "POST", "/_throttle/reset", "", header...); code != http.StatusForbidden {
			t.Errorf("%v: %d %s", header, code, text)
		}
	}
	if code, _, _ := c.call(t, "GET", "/_throttle/reset", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("GET of the reset: %d", code)
	}
	if code, _, _ := c.call(t, "GET", "/_throttle/none", ""); code != http.StatusNotFound {
		t.Errorf("an unknown path: %d", code)
	}
}
