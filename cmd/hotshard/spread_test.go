package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// tablesAt creates a deployment's tables where commands find them, and deletes them after the test.
func tablesAt(t *testing.T) (db *dynamodb.Client, names schema.Names, flags []string) {
	t.Helper()
	endpoint := enginetest.Endpoint(t)
	db = dynamolocal.DynamoDB(endpoint, "")
	prefix := enginetest.Prefix("cli")
	names = schema.NamesFor(prefix)
	require.NoError(t, dynamolocal.CreateTables(t.Context(), db, names))
	t.Cleanup(func() {
		for _, table := range dynamolocal.Tables(names) {
			if _, err := db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table.Name}); err != nil {
				t.Error(err)
			}
		}
	})
	return db, names, []string{"--endpoint", endpoint, "--prefix", prefix}
}

// TestShardsSpread checks that an uneven spread is reported by the exit code, the table and the JSON.
func TestShardsSpread(t *testing.T) {
	t.Parallel()
	db, names, flags := tablesAt(t)
	pk, sk := schema.MapKey("E#sensor")
	enginetest.Put(t, db, names.ShardMap, item{
		"pk": str(pk), "sk": str(sk), "version": num(1), "shard_history": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("1:3")}},
	})
	at := enginetest.Yesterday()
	for i := range 60 {
		key := schema.Key{Base: schema.BaseKey{Type: schema.Event, Name: "sensor"}, Bucket: schema.EventBucket.Label(at), Shard: i % 6 / 5}
		enginetest.Put(t, db, names.Events, item{"pk": str(key.String()), "sk": str(schema.EventSortKey(at, fmt.Sprint(i)))})
	}
	args := append([]string{"shards", "spread", "--type", "entity", "--name", "sensor", "--from", at.Add(-time.Hour).Format(time.RFC3339), "--to", at.Add(time.Hour).Format(time.RFC3339)}, flags...)
	code, out, err := hotshard(t, args...)
	if code != exitBad || err != "hotshard: 1 of 1 spreads of entity \"sensor\" are uneven: their verdicts say more\n" {
		t.Errorf("exit %d with %q, want 1 and one uneven spread", code, err)
	}
	wantText(t, out, "events: 60, on 3 write shards, ", "│           0 │     50 │ +150.0%          │", "uneven: write shard 0 deviates most, by 150.0% of the mean")
	code, out, _ = hotshard(t, append(args, "--json")...)
	var got spreadResult
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitBad {
		t.Fatalf("exit %d, %v in %s", code, err, out)
	}
	if s := got.Spreads; len(s) != 1 || !slices.Equal(s[0].Counts, []int64{50, 10, 0}) || s[0].Verdict != "uneven" {
		t.Errorf("JSON %s, want one uneven spread of 50, 10 and 0", out)
	}
	for _, other := range []struct{ args, want string }{
		{"--type counter --name none --watch 1s", "writes: 0, on 1 write shard"},
		{"--type board --name none --period week", "not sharded"},
		{"--type sessions --name none", "not sharded"},
	} {
		code, out, err := hotshard(t, append(append([]string{"shards", "spread"}, strings.Fields(other.args)...), flags...)...)
		if code != exitOK || !strings.Contains(out, other.want) {
			t.Errorf("%s: exit %d with %s%s, want %s", other.args, code, out, err, other.want)
		}
	}
}

func TestSpreadsWrongUsageIsOneLine(t *testing.T) {
	checkOneLine(t, exitUsage, "shards spread ", map[string]string{
		"--type entity": "missing flags: --name=STRING",
		"":              "missing flags: --",
		"--type counter --name x --from 2026-01-05T00:00:00Z":                          "--from and --to need --type entity",
		"--type counter --name x --watch 1ms":                                          "--watch 1ms: want 1s to 1h",
		"--type board --name x --period year":                                          "--period must be one of",
		"--type counter --name x --watch=-1s":                                          "--watch -1s: want 1s to 1h",
		"--type entity --name x --watch 10s":                                           "--watch needs --type counter",
		"--type counter --name x --period all":                                         "--period needs --type board",
		"--type limit --name x":                                                        "--type limit can't be measured",
		"--type entity --name x --endpoint nonsense":                                   `endpoint "nonsense": want a URL`,
		"--type entity --name x --from 2026-01-05T00:00:00Z --to 2026-01-05T00:00:00Z": "--from must be before --to",
	})
	checkOneLine(t, exitBad, "shards spread ", map[string]string{
		"--type entity --name x --prefix nowhere- --endpoint " + enginetest.Endpoint(t): `no tables of hotshard with the prefix "nowhere-"`,
	})
}
