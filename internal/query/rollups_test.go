package query

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
)

// part stores what a stream shard has of a bucket: an event for each number.
func (r *rig) part(entity string, width shard.Bucket, at time.Time, streamShard string, more map[string]types.AttributeValue, numbers ...string) {
	r.t.Helper()
	p := measures.Part{}.Clone()
	for _, n := range numbers {
		p.Add(map[string]string{"t": n})
	}
	item := p.Attributes()
	pk, sk := schema.RollupKey(entity, width, at, streamShard)
	item["pk"], item["sk"] = &types.AttributeValueMemberS{Value: pk}, &types.AttributeValueMemberS{Value: sk}
	for name, value := range more {
		item[name] = value
	}
	if _, err := r.client.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: item}); err != nil {
		r.t.Fatal(err)
	}
}

// rollups reads the answer, one line a bucket.
func (r *rig) rollups(query string) []string {
	r.t.Helper()
	var answer struct {
		Rollups []struct {
			Start    string
			Count    int
			Measures map[string]map[string]json.Number
			Skipped  int
			Restated bool
		}
	}
	if got := r.get("/v1/rollups?"+query, &answer); got != 200 {
		r.t.Fatalf("%s: status %d", query, got)
	}
	lines := []string{}
	for _, b := range answer.Rollups {
		m := b.Measures["t"]
		line := fmt.Sprintf("%s %d: %s of %s, %s to %s, mean %s", b.Start, b.Count, m["sum"], m["count"], m["min"], m["max"], m["avg"])
		if b.Skipped > 0 || b.Restated {
			line += fmt.Sprintf(", skipped %d, restated %t", b.Skipped, b.Restated)
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *rig) want(query string, lines ...string) {
	r.t.Helper()
	if diff := cmp.Diff(append([]string{}, lines...), r.rollups(query)); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", query, diff)
	}
}

func TestRollups(t *testing.T) {
	r := newRig(t)
	entity := "a/b#2026-01#c ü"
	end := time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC)
	flags := map[string]types.AttributeValue{
		"skipped": &types.AttributeValueMemberN{Value: "3"}, "restated": &types.AttributeValueMemberBOOL{Value: true},
	}
	r.part(entity, shard.Hour, end, "s1", nil, "1", "2.5")
	r.part(entity, shard.Hour, end, "s2", flags, "999999999999999", "-7")
	r.part(entity, shard.Hour, end.Add(2*time.Hour), "s1", nil, "1", "1", "0")
	r.part(entity, shard.Hour, end.Add(time.Hour), "s1", map[string]types.AttributeValue{"restated": flags["restated"]}) // no events
	r.part("a/b", shard.Hour, end, "s1", nil, "1")

	q := "entity=" + url.QueryEscape(entity)
	first := "2026-01-31T22:00:00.000Z 4: 999999999999995.5 of 4, -7 to 999999999999999, mean 249999999999998.875, skipped 3, restated true"
	last := "2026-02-01T00:00:00.000Z 3: 2 of 3, 0 to 1, mean 0.666666666666667"
	r.want(q+"&from=2026-01-31T00:00:00Z&to=2026-02-02T00:00:00Z", first, last)
	r.want(q+"&from=2026-01-31T22:59:59Z&to=2026-01-31T22:59:59.5Z", first)
	r.want(q + "&from=2026-01-31T23:00:00Z&to=2026-02-01T00:00:00Z")
	r.want(q+"&from=2026-01-31T23:00:00Z&to=2026-02-01T00:00:00.001Z", last)
	r.want(q + "&from=2026-01-31T22:00:00Z&to=2026-01-31T22:00:00Z")
	r.want(q+"&from=2026-01-31T23:00:00Z&to=2026-02-01T01:00:00Z&every=2h", first, last)
	r.want(q+"&from=2026-01-31T12:00:00Z&to=2026-02-01T00:00:01Z&every=1d",
		strings.Replace(first, "T22", "T00", 1), last)
	r.want("entity=never&from=2026-01-31T00:00:00Z&to=2026-02-02T00:00:00Z")
}

// TestRollupsEndWhole: a rollup whose time is over is gone, though a part of it was
// folded into later and is still there.
func TestRollupsEndWhole(t *testing.T) {
	r := newRig(t)
	service, err := New(Settings{
		ItemsTable: r.names.Items, EventsTable: r.names.Events, RollupsTable: r.names.Rollups, ShardMapTable: r.names.ShardMap,
		Deadline: 25 * time.Second, DefaultSpan: 720 * time.Hour, RollupRetention: 24 * time.Hour,
	}, r.client, collect.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	service.setClock(func() time.Time { return r.now })
	r.handler = httpapi.New(slog.New(slog.NewTextHandler(t.Output(), nil)), Routes(service))
	hour := r.now
	late := map[string]types.AttributeValue{"expires_at": &types.AttributeValueMemberN{Value: fmt.Sprint(r.now.Unix() + 9999)}}
	r.part("e", shard.Hour, hour.Add(-26*time.Hour), "s1", late, "1")
	r.part("e", shard.Hour, hour.Add(-23*time.Hour), "s1", late, "2")
	r.want("entity=e&from="+hour.Add(-48*time.Hour).Format(time.RFC3339),
		hour.Add(-23*time.Hour).Format("2006-01-02T15:04:05.000Z")+" 1: 2 of 1, 2 to 2, mean 2")
}

// TestExpiredRollupsDoNotCount checks that a part counts for nothing from the second at which it expires,
// though DynamoDB deletes it up to two days later.
func TestExpiredRollupsDoNotCount(t *testing.T) {
	r := newRig(t)
	expires := func(seconds int64) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"expires_at": &types.AttributeValueMemberN{Value: fmt.Sprint(r.now.Unix() + seconds)}}
	}
	hour := r.now.Add(-2 * time.Hour).Truncate(time.Hour)
	r.part("e", shard.Hour, hour, "s1", expires(0), "1")
	r.part("e", shard.Hour, hour, "s2", expires(1), "2")
	r.part("e", shard.Hour, hour.Add(-time.Hour), "s1", expires(-1), "4")
	r.want("entity=e&from="+hour.Add(-9*time.Hour).Format(time.RFC3339), hour.Format("2006-01-02T15:04:05.000Z")+" 1: 2 of 1, 2 to 2, mean 2")
}

func TestRollupsByDay(t *testing.T) {
	r := newRig(t)
	day := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	r.part("e", shard.Day, day, "s1", nil, "1")
	r.part("e", shard.Day, day, "s2", nil, "2")
	r.part("e", shard.Hour, day.Add(13*time.Hour), "s2", nil, "3") // by another rule
	r.part("e", shard.Hour, day.Add(37*time.Hour), "s2", nil, "4")
	r.want("entity=e&every=1d&from=2026-01-05T12:00:00Z&to=2026-01-05T13:00:00Z",
		"2026-01-05T00:00:00.000Z 3: 6 of 3, 1 to 3, mean 2")
	r.want("entity=e&from=2026-01-06T00:00:00Z&to=2026-01-07T00:00:00Z", "2026-01-06T13:00:00.000Z 1: 4 of 1, 4 to 4, mean 4")
	var problem struct{ Errors []struct{ Location string } }
	if got := r.get("/v1/rollups?entity=e&from=2026-01-05T12:00:00Z&to=2026-01-05T13:00:00Z", &problem); got != 422 || problem.Errors[0].Location != "query.every" {
		t.Errorf("a day's rollup by the hour: %d %+v", got, problem)
	}
}

// TestRollupsOfLate reads without a range: up to now.
func TestRollupsOfLate(t *testing.T) {
	r := newRig(t)
	now := r.now
	for i := range 3 {
		r.part("e", shard.Hour, now.AddDate(0, 0, -i*20), "s", nil, "1")
	}
	if got := r.rollups("entity=e"); len(got) != 2 {
		t.Errorf("of 30 days: %v", got)
	}
	if got := r.rollups("entity=e&to=9999-12-31T00:00:00Z&every=1d&from=" + now.AddDate(0, 0, -50).Format(time.RFC3339)); len(got) != 3 {
		t.Errorf("of 50 days: %v", got)
	}
	if got := r.rollups("entity=e&from=9999-01-01T00:00:00Z"); len(got) != 0 {
		t.Errorf("of the future: %v", got)
	}
	if got := r.rollups("entity=e&to=0001-01-02T00:00:00Z"); len(got) != 0 {
		t.Errorf("of times before 1970: %v", got)
	}
}

func TestBadRollupParameters(t *testing.T) {
	r := newRig(t)
	for query, location := range map[string]string{
		"":                                   "query.entity",
		"entity=":                            "query.entity",
		"entity=%00":                         "query.entity",
		"entity=a&entity=b":                  "query.entity",
		"entity=e&every=5h":                  "query.every",
		"entity=e&every=30m":                 "query.every",
		"entity=e&every=90m":                 "query.every",
		"entity=e&every=2d":                  "query.every",
		"entity=e&every=48h":                 "query.every",
		"entity=e&every=-1h":                 "query.every",
		"entity=e&every=hourly":              "query.every",
		"entity=e&from=today":                "query.from",
		"entity=e&to=today":                  "query.to",
		"entity=e&from=1970-01-01T00:00:00Z": "query.from",
		"entity=e&from=0001-01-02T00:00:00Z&every=1d":                                  "query.from",
		"entity=e&from=2026-01-05T00:00:00Z&to=2026-01-04T00:00:00Z":                   "query.to",
		"entity=e&from=2026-01-01T00:00:00Z&to=2026-02-11T16:00:00.001Z":               "query.from",
		"entity=e&from=2021-01-01T00:00:00Z&to=2023-09-29T00:00:00Z&every=1d":          "query.from",
		"entity=e&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z&every=1h&every=1d": "query.every",
	} {
		var problem struct {
			Status int
			Errors []struct{ Location, Message string }
		}
		if got := r.get("/v1/rollups?"+query, &problem); got != 422 || len(problem.Errors) == 0 || problem.Errors[0].Location != location || problem.Errors[0].Message == "" {
			t.Errorf("%s: %d %+v, want %s", query, got, problem, location)
		}
	}
	r.want("entity=e&from=2026-01-01T00:00:00Z&to=2026-02-11T16:00:00Z") // just 1,000 hours
}
