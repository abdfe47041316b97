package system

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
)

var update = flag.Bool("update", false, "write the golden files of testdata from what the system stores and answers")

type storedCall struct{ method, path, body, key string }

// storedCalls create an item of each form that the API can create.
var storedCalls = append([]storedCall{
	{"PUT", "/v1/leaderboards", `{"board":"board/1","mode":"best","size":10,"periods":["all","day","week"]}`, ""},
	{"POST", "/v1/scores", `{"board":"board/1","scores":[{"player":"ann","score":12.5}]}`, ""},
	{"POST", "/v1/counters", `{"increments":[{"counter":"counter/1","delta":3}]}`, ""},
	{"POST", "/v1/counters", `{"increments":[{"counter":"counter/1","delta":4}]}`, "key-1"},
	{"POST", "/v1/events", `{"events":[{"entity":"entity/1","data":{"temperature":21.5,"at":{"room":"x"}}}]}`, ""},
	{"PUT", "/v1/sessions", `{"group":"group/1","id":"session-1","ttl":"30m","data":{"cart":["book"]}}`, ""},
	{"DELETE", "/v1/sessions?group=group/1&id=session-2", "", ""},
	{"POST", "/v1/limits", `{"key":"limit/1","limit":5,"window":"1h"}`, ""},
	{"PUT", "/v1/shards", `{"type":"counter","name":"pinned/1","shards":3}`, ""},
}, slices.Repeat([]storedCall{ // all 40 miss write shard 0 in 1 of 10^7 runs
	{"POST", "/v1/counters", `{"increments":[{"counter":"pinned/1","delta":1}]}`, ""},
}, 40)...)

// TestStoredForms compares the forms of stored items with testdata/stored.golden: table, key pattern, and attributes with
// their types. It omits heat items, whose attributes depend on the load. To accept a change, run
// go test ./internal/tool/system -run TestStoredForms -update.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	require.Engine(t)
	s, stop := startWith(t, func(o *Options) { o.Window = time.Second })
	defer stop()
	for _, c := range storedCalls {
		request, err := http.NewRequestWithContext(t.Context(), c.method, s.URL()+c.path, strings.NewReader(c.body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		if c.key != "" {
			request.Header.Set("Idempotency-Key", c.key)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		if answer.StatusCode/100 != 2 {
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("%s %s: %s\n%s", c.method, c.path, answer.Status, text)
		}
		answer.Body.Close()
	}
	golden := filepath.Join("testdata", "stored.golden")
	if *update {
		time.Sleep(storedTime)
		require.NoError(t, os.WriteFile(golden, []byte(storedForms(t, s)), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	for deadline := time.Now().Add(2 * storedTime); ; time.Sleep(200 * time.Millisecond) {
		got := storedForms(t, s)
		if got == string(want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("stored forms (-golden +now):\n%s", cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
		}
	}
}

// storedTime bounds the wait until the summaries are stored.
const storedTime = 10 * time.Second

// storedForms returns a line for each form of item in the tables, sorted.
func storedForms(t *testing.T, s *System) string {
	t.Helper()
	forms := map[string]bool{}
	for _, table := range []struct{ short, name string }{
		{"items", s.names.Items}, {"events", s.names.Events}, {"rollups", s.names.Rollups}, {"shard-map", s.names.ShardMap},
	} {
		pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: &table.name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			require.NoError(t, err)
			for _, it := range page.Items {
				forms[table.short+" "+storedForm(it)] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(forms)), "\n") + "\n"
}

// storedForm returns an item's key pattern and its attributes with their types.
func storedForm(item map[string]types.AttributeValue) string {
	var attributes []string
	for name, value := range item {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", value), "*types.AttributeValueMember")
		attributes = append(attributes, varying.Replace(name)+":"+kind)
	}
	slices.Sort(attributes)
	key := func(name string) string {
		value, _ := item[name].(*types.AttributeValueMemberS)
		return varying.Replace(value.Value)
	}
	return fmt.Sprintf("%s | %s | %s", key("pk"), key("sk"), strings.Join(slices.Compact(attributes), " "))
}

// varying replaces the parts of keys and names that differ from run to run.
var varying = replacements{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "<time>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d(T\d\d)?`), "<date>"},
	{regexp.MustCompile(`\d{4}-(W\d\d|\d\d)\b`), "<span>"},
	{regexp.MustCompile(`shardId-[0-9a-f-]+`), "<stream shard>"},
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`), "<ulid>"},
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b|\b[0-9a-f]{16,}\b`), "<random>"},
	{regexp.MustCompile(`>#[0-9a-z]{10,}$`), ">#<random>"},
	{regexp.MustCompile(`\d{5,}`), "<number>"},
	{regexp.MustCompile(`#\d+\b`), "#<n>"},
	{regexp.MustCompile(`^([a-z]+)\d+$`), "$1<n>"},
}

type replacements []struct {
	pattern *regexp.Regexp
	by      string
}

// Replace returns the text with every pattern replaced.
func (r replacements) Replace(text string) string {
	for _, one := range r {
		text = one.pattern.ReplaceAllString(text, one.by)
	}
	return text
}
