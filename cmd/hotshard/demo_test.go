//go:build storm

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestDemo runs the shortest demo. It compares the story with the shard map and with the limiter's counts during the
// run. The console stays until an interruption.
func TestDemo(t *testing.T) {
	endpoint, prefix := enginetest.Endpoint(t), enginetest.Prefix("demo")
	var out, errOut syncBuffer
	code := make(chan int, 1)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	go func() {
		code <- run(ctx, []string{"demo", "--keep", "--for", "40s", "--addr", "127.0.0.1:0", "--endpoint", endpoint, "--prefix", prefix, "--json"}, streams{out: &out, err: &errOut})
	}()
	throttled := int64(0)
	exit := -1
	for exit < 0 {
		select {
		case exit = <-code:
		case <-time.After(time.Second / 2):
			throttled = max(throttled, throttledSoFar(errOut.String()))
			if strings.HasSuffix(out.String(), "}\n") && ctx.Err() == nil {
				checkKept(t, errOut.String())
				interrupt(interruption{os.Interrupt})
			}
		}
	}
	var story load.DemoStory
	if err := json.Unmarshal([]byte(out.String()), &story); err != nil {
		t.Fatalf("exit %d, %v: %s %s", exit, err, out.String(), errOut.String())
	}
	t.Log(strings.Join(story.Lines(), "\n"))
	if exit != exitOK || story.Err() != nil {
		t.Fatalf("exit %d: %s", exit, errOut.String())
	}
	if got := story.ThrottledAttempts; got < throttled {
		t.Errorf("the story has %d throttled writes, but the limiter counted %d", got, throttled)
	}
	checkHistory(t, endpoint, prefix, story)
	if *story.HotAfter > *story.CoolAfter || story.HottestWCU < story.HotWCU || story.CoolWCU >= story.HotWCU || story.Requests < 500 {
		t.Errorf("story %+v, want a hot key that cooled", story)
	}
}

// checkKept checks that the console is there after the story, with the demo's line.
func checkKept(t *testing.T, notices string) {
	t.Helper()
	_, url, _ := strings.Cut(notices, "the console is at ")
	url, _, _ = strings.Cut(url, "/#")
	answer, err := http.Get(url + "/console/about")
	require.NoError(t, err)
	defer answer.Body.Close()
	var about console.About
	if err := json.NewDecoder(answer.Body).Decode(&about); err != nil || !strings.HasPrefix(about.Demo, "demo: watch "+load.DemoCounter+". For 40 s its writes rise from 18 to 120 a second") {
		t.Errorf("after the story the console says %q, %v", about.Demo, err)
	}
}

// throttledSoFar returns the counter's throttled writes from a running demo's console, or 0 if it does not respond.
func throttledSoFar(notices string) (sum int64) {
	_, url, ok := strings.Cut(notices, "the console is at ")
	if !ok {
		return 0
	}
	url, _, _ = strings.Cut(url, "/#")
	answer, err := http.Get(url + "/console/signals?step=1s")
	if err != nil {
		return 0 // the demo has ended
	}
	defer answer.Body.Close()
	var signals struct {
		Keys []struct {
			Name      string
			Throttled []int64
		}
	}
	if json.NewDecoder(answer.Body).Decode(&signals) != nil {
		return 0
	}
	for _, k := range signals.Keys {
		if k.Name == load.DemoCounter {
			for _, n := range k.Throttled {
				sum += n
			}
		}
	}
	return sum
}

// mapLead exceeds the time from a change until it takes effect in the shard map.
const mapLead = 8 * time.Second

// checkHistory checks that the shard map has each change of the story.
func checkHistory(t *testing.T, endpoint, prefix string, story load.DemoStory) {
	t.Helper()
	m := shardmap.New(dynamolocal.DynamoDB(endpoint, ""), schema.NamesFor(prefix).ShardMap, shardmap.Options{})
	entry, err := m.Lookup(t.Context(), schema.BaseKey{Type: schema.Counter, Name: load.DemoCounter}.String(), story.Began.Add(time.Minute))
	require.NoError(t, err)
	if got := entry.History.Newest(); got != story.ShardsAfter || got == 1 || len(story.Changes) == 0 {
		t.Errorf("the shard map has %d write shards, the story is %+v", got, story)
	}
	for _, c := range story.Changes {
		if !slices.ContainsFunc(entry.History, func(h shard.Change) bool {
			return h.Count == c.Shards && h.At.Sub(c.Time) > -time.Second && h.At.Sub(c.Time) < mapLead
		}) {
			t.Errorf("the shard map's history %+v lacks %+v", entry.History, c)
		}
	}
}
