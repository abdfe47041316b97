package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// call makes a call until it succeeds, since a loaded engine takes too long for some, and returns its body without what
// differs between two reads of one value. A call that changes a value by an amount has an idempotency key.
func (d *deployed) call(method, path, body, key string) (text string) {
	d.t.Helper()
	repeat(d.t, method+" "+path, func() string {
		request, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
		require.NoError(d.t, err)
		request.Header.Set("Content-Type", "application/json")
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(d.t, err)
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if code := response.StatusCode; code >= 400 && code < 429 {
			d.t.Fatalf("%s %s: %d %s", method, path, code, content)
		}
		if text = timeOfRead.ReplaceAllString(string(content), ""); err != nil || response.StatusCode != http.StatusOK || strings.Contains(text, `"status":"rejected"`) {
			return fmt.Sprintf("%d %s, %v", response.StatusCode, content, err)
		}
		return ""
	})
	return text
}

var timeOfRead = regexp.MustCompile(`"as_of":"[^"]*",?`)

// write writes to every kind of key. Each round adds to the values.
func (d *deployed) write(round int) {
	for i := range 4 {
		for path, body := range map[string]string{
			"counters": fmt.Sprintf(`{"increments":[{"counter":"few","delta":%d},{"counter":"many","delta":%d}]}`, round, 10*round+i),
			"events": fmt.Sprintf(`{"events":[{"entity":"room","id":"%d-%d","time":%q,"data":{"t":%d}},{"entity":"hall","data":{"t":1}}]}`,
				round, i, enginetest.Yesterday().Format(time.RFC3339), i),
			"scores": fmt.Sprintf(`{"board":"sums","scores":[{"player":"p%d","score":%d}]}`, i, round),
			"limits": `{"key":"login","limit":1000,"window":"720h"}`,
		} {
			d.call("POST", "/v1/"+path, body, fmt.Sprintf("%s-%d-%d", path, round, i))
		}
		d.call("POST", "/v1/scores", fmt.Sprintf(`{"board":"best","scores":[{"player":"p%d","score":%d}]}`, i, round*i), "")
		d.call("PUT", "/v1/sessions", fmt.Sprintf(`{"group":"g","id":"%d-%d","ttl":"24h"}`, round, i), "")
	}
}

// values returns every value that was written, by the call that reads it.
func (d *deployed) values() map[string]string {
	values := map[string]string{}
	for _, path := range []string{
		"counters?name=few", "counters?name=many", "counters?name=few&consistency=strong", "counters?name=many&consistency=strong",
		"events?entity=room&limit=100&from=" + enginetest.Yesterday().Add(-time.Hour).Format(time.RFC3339), "events?entity=hall&limit=100",
		"rollups?entity=room&from=" + enginetest.Yesterday().Format(time.RFC3339), "rollups?entity=hall",
		"leaderboards?board=sums", "leaderboards?board=best", "leaderboards/rank?board=sums&player=p3", "leaderboards/rank?board=best&player=p2",
		"sessions?group=g", "shards?type=counter&name=many", "shards?type=entity&name=hall",
	} {
		values[path] = d.call("GET", "/v1/"+path, "", "")
	}
	return values
}

// restore copies a table into a new one without a stream, as a point-in-time restore does.
func restore(t *testing.T, db *dynamodb.Client, from, to schema.Table) {
	t.Helper()
	to.Stream = false
	require.NoError(t, schema.MakeTable(t.Context(), db, to))
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &from.Name, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, it := range page.Items {
			_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &to.Name, Item: it})
			require.NoError(t, err)
		}
	}
}

// TestRestore rehearses the steps of docs/first-sixty-days.md: four tables are copied under another prefix, get their
// streams afterwards, and a system starts over them. The summaries are older than the items, and the new stream has none
// of the records in between. After hotshard check --repair --all every value is as before, and goes on from there.
func TestRestore(t *testing.T) {
	t.Parallel()
	old := deploy(t)
	for _, pin := range []string{`{"type":"counter","name":"many","shards":8}`, `{"type":"entity","name":"hall","shards":4}`, `{"type":"board","name":"sums","shards":4}`} {
		old.call("PUT", "/v1/shards", pin, "")
	}
	old.call("PUT", "/v1/leaderboards", `{"board":"sums","mode":"sum"}`, "")
	old.write(1)
	prefix := enginetest.Prefix("restored")
	names := schema.NamesFor(prefix)
	copyTables := func(wanted ...string) {
		for i, from := range schema.Tables(old.names) {
			for _, w := range wanted {
				if from.Name == w {
					restore(t, old.db, from, schema.Tables(names)[i])
				}
			}
		}
	}
	copyTables(old.names.Rollups)
	old.write(2)
	keyed := old.call("POST", "/v1/counters", `{"increments":[{"counter":"many","delta":1000}]}`, "once")
	copyTables(old.names.Items, old.names.Events, old.names.ShardMap)
	for _, name := range []string{names.Items, names.Events} {
		_, err := old.db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
			TableName: &name, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
		})
		require.NoError(t, err)
	}
	s := runSystem(t, system.Options{Prefix: prefix, Window: time.Second, Idle: time.Second, Control: "off", Notices: os.Stderr})
	restored := &deployed{t: t, url: s.URL(), db: old.db, names: names, flags: []string{"--endpoint", enginetest.Endpoint(t), "--prefix", prefix}}
	repeat(t, "the check finds everything repaired", func() string {
		code, out, _ := hotshard(t, append([]string{"check", "--repair", "--all", "--wait", "10s"}, restored.flags...)...)
		if code == exitOK {
			return ""
		}
		return out
	})
	same := func(without *regexp.Regexp) {
		t.Helper()
		repeat(t, "the restored values are the old ones", func() (different string) {
			want := old.values()
			for path, got := range restored.values() {
				if without.ReplaceAllString(got, "") != without.ReplaceAllString(want[path], "") {
					different += fmt.Sprintf("%s is\n%s, want\n%s\n", path, got, want[path])
				}
			}
			return different
		})
	}
	same(timeOfRead)
	if again := restored.call("POST", "/v1/counters", `{"increments":[{"counter":"many","delta":1000}]}`, "once"); again != keyed {
		t.Errorf("a keyed call that was answered before gets %s, want %s", again, keyed)
	}
	for _, d := range []*deployed{old, restored} {
		d.call("POST", "/v1/counters", `{"increments":[{"counter":"many","delta":7},{"counter":"few","delta":7}]}`, "later-increments")
		d.call("POST", "/v1/scores", `{"board":"sums","scores":[{"player":"p3","score":7}]}`, "later-score")
	}
	const hit = `{"key":"login","limit":1000,"window":"720h"}`
	if a, b := old.call("POST", "/v1/limits", hit, "later-hit"), restored.call("POST", "/v1/limits", hit, "later-hit"); a != b {
		t.Errorf("a hit is answered with %s, want %s", b, a)
	}
	same(regexp.MustCompile(`"time":"[^"]*"`)) // each system has the later score at its own time
}

// repeat calls f until it returns "", for up to three minutes: folds, and repairs of boards, take their time.
func repeat(t *testing.T, what string, f func() string) {
	t.Helper()
	last := ""
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if last = f(); last == "" {
			return
		}
	}
	t.Fatalf("after three minutes %s: not yet\n%s", what, last)
}
