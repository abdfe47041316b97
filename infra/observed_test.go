package infra

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// system is the four functions, each behind a guard, on one engine.
type system struct {
	t         *testing.T
	db        *dynamodb.Client
	names     schema.Names
	guards    map[string]*grantGuard
	functions map[string]*runtimeapi.Function
	cli       string // path of the command line's binary
}

func start(t *testing.T) *system {
	t.Helper()
	s := &system{t: t, db: enginetest.Client(t), guards: map[string]*grantGuard{}, functions: map[string]*runtimeapi.Function{}}
	s.names = enginetest.Tables(t, s.db)
	keys, err := s.db.Options().Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watch := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		_, _ = w.Write([]byte{0xa0}) // an empty response
	}))
	t.Cleanup(watch.Close)
	bin := t.TempDir()
	tables := map[string]string{s.names.Items: Items, s.names.Events: Events, s.names.Rollups: Rollups, s.names.ShardMap: ShardMap, s.names.Heat: Heat}
	s.cli = build(t, filepath.Join(bin, "hotshard"), "./cmd/hotshard")
	s.guards[cli] = newGrantGuard(t, append(example(t), "ListTables"), enginetest.Endpoint(t), tables) // ListTables checks that this is an engine
	s.guards[cli].key = keys.AccessKeyID
	for _, name := range Functions {
		if name == Reader { // TestReaderMayDoTheWorkOfBoth
			continue
		}
		binary := build(t, filepath.Join(bin, name, "bootstrap"), "./functions/"+name)
		s.guards[name] = newGrantGuard(t, granted(name), enginetest.Endpoint(t), tables)
		env := append(runtimeapi.Env(s.guards[name].url, keys.AccessKeyID, watch.URL, s.names),
			"AWS_REGION="+dynamolocal.Region, "HOME="+bin, "HOTSHARD_PARTITION_WCU=1", "HOTSHARD_THRESHOLD=0.5", "HOTSHARD_WINDOW=1s")
		f, err := runtimeapi.Start(t.Context(), runtimeapi.Options{Binary: binary, Env: env, Log: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Stop() })
		s.functions[name] = f
	}
	return s
}

func build(t *testing.T, binary, folder string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", binary, folder)
	cmd.Dir = coreRoot
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", folder, err, out)
	}
	return binary
}

// call sends a request as API Gateway does, and checks that the status is 200. Of writes, the query is the Idempotency-Key.
func (s *system) call(function, method, path, query string, body any) {
	s.t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	headers := map[string]string{"content-type": "application/json"}
	if method != http.MethodGet && query != "" {
		headers["idempotency-key"], query = query, ""
	}
	request := map[string]any{"version": "2.0", "rawPath": path, "rawQueryString": query, "headers": headers, "body": string(content),
		"requestContext": map[string]any{"requestId": "r", "http": map[string]string{"method": method, "path": path}}}
	if method == http.MethodGet {
		delete(request, "body")
	}
	got, err := s.answer(function, request)
	for n := 1; n < 10 && method+path == "PUT/v1/shards" && got.StatusCode == http.StatusServiceUnavailable; n++ {
		got, err = s.answer(function, request) // a slow change may be retried
	}
	if err != nil || got.StatusCode != http.StatusOK {
		s.t.Errorf("%s %s?%s: %d %s, %v", method, path, query, got.StatusCode, got.Body, err)
	}
}

type answer struct {
	StatusCode int
	Body       string
}

func (s *system) answer(function string, request any) (got answer, err error) {
	s.t.Helper()
	err = json.Unmarshal(s.invoke(function, request), &got)
	return got, err
}

func (s *system) invoke(function string, payload any) []byte {
	s.t.Helper()
	content, ok := payload.(string)
	if !ok {
		text, err := json.Marshal(payload)
		if err != nil {
			s.t.Fatal(err)
		}
		content = string(text)
	}
	answer, err := s.functions[function].Invoke(s.t.Context(), []byte(content))
	if err != nil {
		s.t.Errorf("%s: %v", function, err)
	}
	return answer
}

type jsonObject = map[string]any

func (s *system) write(at time.Time) {
	s.call(Ingest, http.MethodPut, "/v1/leaderboards", "", jsonObject{"board": "game", "mode": "best", "size": 2, "periods": []string{"all"}})
	for _, score := range []int{3, 2, 1} {
		s.call(Ingest, http.MethodPost, "/v1/scores", "", jsonObject{"board": "game", "scores": []jsonObject{
			{"player": "a", "score": score}, {"player": "b", "score": 2 * score}, {"player": "c", "score": 3 * score}}})
	}
	s.call(Ingest, http.MethodPost, "/v1/events", "", jsonObject{"events": []jsonObject{{"entity": "door", "id": "1", "time": at, "data": jsonObject{"n": 1}}, {"entity": "door", "id": "2", "time": at}}})
	s.call(Ingest, http.MethodPost, "/v1/events", "keyed", jsonObject{"events": []jsonObject{{"entity": "door", "id": "3", "time": at}}})
	s.call(Ingest, http.MethodPut, "/v1/shards", "", jsonObject{"type": "counter", "name": "viral", "shards": 2})
	for _, key := range append(make([]string, 30), "once", "once") { // all 30 miss write shard 1, which is folded, in 1 of 10^9 runs
		s.call(Ingest, http.MethodPost, "/v1/counters", key, jsonObject{"increments": []jsonObject{{"counter": "viral", "delta": 1}}})
	}
	for _, key := range []string{"", "session"} {
		s.call(Ingest, http.MethodPut, "/v1/sessions", key, jsonObject{"group": "shop", "id": "u-17", "ttl": "30m"})
	}
	s.call(Ingest, http.MethodPut, "/v1/shards", "", jsonObject{"type": "counter", "name": "pinned", "shards": 3})
	s.call(Ingest, http.MethodPut, "/v1/shards", "", jsonObject{"type": "counter", "name": "pinned", "shards": nil})
}

func (s *system) read(at time.Time) {
	day := "&from=" + url.QueryEscape(at.Add(-time.Hour).Format(time.RFC3339)) + "&to=" + url.QueryEscape(at.Add(time.Hour).Format(time.RFC3339))
	for _, q := range []struct{ path, query string }{
		{"/v1/counters", "name=viral"}, {"/v1/counters", "name=viral&consistency=strong"}, {"/v1/events", "entity=door" + day},
		{"/v1/events/1", "entity=door&time=" + url.QueryEscape(at.Format(time.RFC3339Nano))}, {"/v1/rollups", "entity=door" + day},
		{"/v1/leaderboards", "board=game"}, {"/v1/leaderboards", "board=game&limit=3"}, {"/v1/leaderboards/rank", "board=game&player=a&around=2"},
		{"/v1/shards", "type=counter&name=viral"}, {"/v1/hot-keys", "since=15m"}, {"/v1/sessions", "group=shop"}, {"/v1/sessions", "group=shop&id=u-17"}, {"/v1/sessions/list", "group=shop"},
	} {
		s.call(Query, http.MethodGet, q.path, q.query, nil)
	}
}

// counting counts a function's calls.
type counting struct {
	eventsource.Handler
	calls atomic.Int64
}

// Invoke counts the call and makes it.
func (c *counting) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	c.calls.Add(1)
	return c.Handler.Invoke(ctx, payload)
}

// deliver passes all records of the streams to both readers, and starts them until the test ends.
func (s *system) deliver() {
	s.t.Helper()
	for _, table := range schema.StreamTables() {
		source, err := eventsource.OpenStream(s.t.Context(), s.db, enginetest.Streams(s.t, s.db), s.names.Table(table))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, function := range []string{Hotkeys, Aggregator} {
			counted := &counting{Handler: s.functions[function]}
			m := eventsource.NewMapping(eventsource.MappingOptions{
				Name: function + "-" + table, Source: source, Handler: counted, Checkpoints: s.db, CheckpointTable: dynamolocal.CheckpointTable(s.names),
				BatchSize: 1000, PollInterval: 200 * time.Millisecond, TumblingWindow: time.Second, IdleWindow: time.Second, Attempts: 3,
			})
			if err := m.Drain(s.t.Context()); err != nil || counted.calls.Load() == 0 {
				s.t.Errorf("%s of %s: %d calls, %v", function, table, counted.calls.Load(), err)
			}
			go func() { _ = m.Run(s.t.Context()) }()
			s.t.Cleanup(func() {
				if n := m.GivenUp(); n > 0 {
					s.t.Errorf("%s of %s: %d records discarded", function, table, n)
				}
			})
		}
	}
}

// TestGrantsAreEnough runs the system with each function behind a guard that denies calls without a grant. No call may
// be denied, and each grant must be used.
func TestGrantsAreEnough(t *testing.T) {
	s := start(t)
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Millisecond)
	s.write(at)
	s.deliver()
	s.invoke(Hotkeys, hotkeys.HeatTask)
	s.invoke(Hotkeys, hotkeys.ShrinkTask)
	s.invoke(Aggregator, fold.CompactionTask)
	s.invoke(Aggregator, fold.BoardsTask)
	s.read(at)
	s.command("check", "--repair")
	s.command("shards", "spread", "--type", "counter", "--name", "viral", "--watch", "1s")
	s.command("shards", "spread", "--type", "board", "--name", "game")
	s.command("shards", "spread", "--type", "sessions", "--name", "shop")
	s.command("delete", "--type", "board", "--name", "game", "--player", "a", "--yes", "--settle", "1s", "--wait", "1s", "--index-lag", "1s")
	s.command("delete", "--type", "board", "--name", "game", "--yes", "--settle", "1s", "--wait", "1s", "--index-lag", "1s")
	s.command("delete", "--type", "entity", "--name", "door", "--yes", "--settle", "1s", "--wait", "1s", "--index-lag", "1s")
	s.command("delete", "--type", "counter", "--name", "viral", "--yes", "--settle", "1s", "--wait", "1s", "--index-lag", "1s")
	for name, g := range s.guards {
		g.mu.Lock()
		if len(g.denied) > 0 {
			t.Errorf("%s was denied %q", name, g.denied)
		}
		for _, grant := range g.unseen() {
			if why := rarelyUsed[name][grant]; why != "" {
				t.Logf("%s did not use %q, which is %s", name, grant, why)
			} else {
				t.Errorf("%s did not use %q: the grant is needless, or this test lacks its purpose", name, grant)
			}
		}
		g.mu.Unlock()
	}
}

// rarelyUsed has the grants that a run may leave unused, with their purpose.
var rarelyUsed = map[string]map[string]string{
	Hotkeys: {
		"DescribeTable " + Source: "for a deployment that is attached to a table",
	},
	Query: {
		"GetItem " + Items:                     "for the settings of a board whose period has no scores",
		"Query " + Items + " " + schema.ByRank: "for ranks beyond the stored top",
	},
	Aggregator: {
		"GetItem " + Items:                     "for the compaction, to check that a removed write shard does not exist",
		"UpdateItem " + Items:                  "for rows of entries that the index throttled",
		"Query " + Items + " " + schema.ByRank: "for a top that has lost entries",
		"DeleteItem " + Rollups:                "for old tombstones, and notes of boards that were rechecked",
		"GetItem " + ShardMap:                  "for the write shards of such a board",
	},
	cli: {
		"UpdateItem " + Items:          "for the repair of a counter, which raises a write shard's rev",
		"ConditionCheckItem " + Events: "for the repair of an event on two write shards, which keeps the copy that reads return",
	},
}

// cli is the command line, whose grants are in an example of docs/deploy.md.
const cli = "cli"

// example returns the grants of the command line in docs/deploy.md.
func example(t *testing.T) (texts []string) {
	t.Helper()
	tables := map[string]string{"items": Items, "events": Events, "rollups": Rollups, "shard-map": ShardMap}
	for _, s := range require.Policies(t, filepath.Join(coreRoot, "docs", "deploy.md")) {
		for _, resource := range s.Resource {
			_, table, ofTable := strings.Cut(resource, ":table/hotshard-")
			table, index, _ := strings.Cut(table, "/index/")
			for _, action := range s.Action {
				if ofTable { // others are calls of the API
					texts = append(texts, grantText(strings.TrimPrefix(action, "dynamodb:"), tables[table], index))
				}
			}
		}
	}
	if len(texts) == 0 {
		t.Fatal("docs/deploy.md has no policy for the command line")
	}
	return texts
}

// command runs the command line behind its guard. Its exit code does not matter.
func (s *system) command(args ...string) {
	s.t.Helper()
	prefix := strings.TrimSuffix(s.names.Items, "items")
	cmd := exec.CommandContext(s.t.Context(), s.cli, append(args, "--endpoint", s.guards[cli].url, "--prefix", prefix)...)
	out, err := cmd.CombinedOutput()
	s.t.Logf("%q: %v\n%s", args, err, out)
	if strings.Contains(string(out), "Usage:") || strings.Contains(string(out), "unknown flag") {
		s.t.Errorf("%q is not a command", args)
	}
}
