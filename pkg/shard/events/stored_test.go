package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStoredFormOfEvents compares stored events with a golden file, since old items are never rewritten. The file has
// several shard counts, separators in entities and ids, and events with and without data.
func TestStoredFormOfEvents(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	start := time.Date(2126, 1, 5, 23, 59, 59, 998_600_000, time.UTC)
	d.SetShards(t, "E#a#b/é", "4923000000:4", "4923161000:16")
	var list []events.Event
	for i := range 12 {
		list = append(list, events.Event{
			Entity: []string{"a#b/é", "plain"}[i%2], ID: []string{"x", "~probe", "1#2", "01ARZ3NDEKTSV4RRFFQ69G5FAV"}[i%4],
			Time: start.Add(time.Duration(i-6) * 8 * time.Hour),
		})
		if i%3 > 0 {
			list[i].Data = map[string]types.AttributeValue{"n": &types.AttributeValueMemberN{Value: fmt.Sprint(i)}}
		}
	}
	for n, retention := range []time.Duration{0, 36 * time.Hour} {
		w := events.NewWriter(d.Client, d.Names.Events, d.Shards, events.Options{Retention: retention})
		for i := range list {
			list[i].ID += fmt.Sprint(n)
		}
		now := start.Add(100 * time.Hour)
		require.NoError(t, errors.Join(w.Put(libtest.Within(t), list[:11], now)...))
		action, err := w.PutTransact(libtest.Within(t), list[11], now)
		if err == nil {
			_, err = d.Client.PutItem(libtest.Within(t), &dynamodb.PutItemInput{TableName: action.Action.Put.TableName, Item: action.Action.Put.Item})
		}
		require.NoError(t, err)
	}
	out, err := d.Client.Scan(libtest.Within(t), &dynamodb.ScanInput{TableName: &d.Names.Events})
	require.NoError(t, err)
	var lines []string
	for _, it := range out.Items {
		line, err := json.Marshal(it)
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	got, golden := []byte(strings.Join(lines, "\n")+"\n"), "testdata/events.golden"
	if *update {
		require.NoError(t, errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, got, 0o644)))
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: the stored form is\n%swant\n%s", err, got, want)
	}
}
