package parts_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

func TestReadNamesThePartsAndOthersNot(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "shardId-2", 0, 3)
	r.fold(t, 0, "e", "shardId-1", 0, 2)
	r.fold(t, 0, "e#1", "shardId-1", 0, 9)
	read := r.read(t, "e")
	if len(read) != 2 || read[0].StreamShard != "shardId-1" || read[0].Value.Events != 2 || read[1].Value.Events != 3 || read[1].ExpiresAt != 0 {
		t.Fatalf("got %+v", read)
	}
	r.merge(t, "e")
	if read = r.read(t, "e"); len(read) != 3 || read[2].StreamShard != schema.MergedPart || read[2].Value.Events != 5 || read[2].AsOf.IsZero() {
		t.Fatalf("after a merge %+v", read)
	}
	if day, err := r.store.Read(t.Context(), parts.Bucket{Entity: "e", Width: shard.Day, Start: hour}.Key()); err != nil || len(day) != 0 {
		t.Fatalf("of the day: %+v, %v", day, err)
	}
}

// TestAFoldInBetween: what was folded after the parts were read makes Replace fail,
// and nothing is written.
func TestAFoldInBetween(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "a", 0, 3)
	r.fold(t, 0, "e", "b", 0, 2)
	read := r.read(t, "e")
	r.fold(t, 1, "e", "b", 0, 4)
	before := asJSON(t, r.read(t, "e"))
	if err := r.replace("e", read); !errors.Is(err, parts.ErrMoved) || !strings.Contains(err.Error(), "E#e#") {
		t.Fatalf("got %v", err)
	}
	if after := asJSON(t, r.read(t, "e")); after != before {
		t.Fatalf("%s became %s", before, after)
	}
	r.check(t, "e", 3, 4)
	r.merge(t, "e")
	if err := r.replace("e", read); !errors.Is(err, parts.ErrMoved) {
		t.Fatalf("over a merged part that was absent: %v", err)
	}
	stale := r.read(t, "e")
	r.merge(t, "e")
	if err := r.replace("e", stale); !errors.Is(err, parts.ErrMoved) {
		t.Fatalf("over a newer merged part: %v", err)
	}
	r.check(t, "e", 3, 4)
}

// TestEmptiedPartsGoOn: redeliveries add nothing to an emptied part, and new
// records are added, by a container that remembers the part as it was and by one
// that doesn't.
func TestEmptiedPartsGoOn(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "a", 0, 5)
	r.fold(t, 0, "e", "b", 0, 2)
	r.merge(t, "e")
	marker := r.item(t, "e", "a")
	expiry := marker["expires_at"].(*types.AttributeValueMemberN).Value
	if at, _ := strconv.ParseInt(expiry, 10, 64); time.Until(time.Unix(at, 0)) < 47*time.Hour {
		t.Errorf("it expires at %s", expiry)
	}
	r.check(t, "e", 5, 2)
	r.fold(t, 0, "e", "a", 0, 5)
	r.fold(t, 1, "e", "a", 3, 5)
	if after := r.item(t, "e", "a"); asJSON(t, after) != asJSON(t, marker) {
		t.Fatalf("redelivered: %v became %v", marker, after)
	}
	r.fold(t, 0, "e", "a", 2, 7)
	r.fold(t, 1, "e", "a", 4, 8)
	r.check(t, "e", 8, 2)
	part := r.read(t, "e")[0]
	if part.Value.Events != 3 || part.ExpiresAt != 0 || strings.HasSuffix(part.Sequence, schema.EmptiedSuffix) {
		t.Fatalf("got %+v", part)
	}
	r.merge(t, "e")
	r.check(t, "e", 8, 2)
}

// TestATotalOfOnesOwn: the merged part holds what the caller says, and an empty
// total leaves nothing.
func TestATotalOfOnesOwn(t *testing.T) {
	r := newRig(t)
	b := bucketOf("e").Key()
	var total measures.Part
	total = total.Clone()
	total.Add(map[string]string{"t": "0"})
	if _, err := r.store.Replace(t.Context(), b, nil, total, 0, nil); err != nil {
		t.Fatal(err)
	}
	r.check(t, "e", 1)
	r.fold(t, 0, "e", "a", 0, 3)
	if _, err := r.store.Replace(t.Context(), b, r.read(t, "e"), measures.Part{}, 0, nil); err != nil {
		t.Fatal(err)
	}
	r.check(t, "e")
	for _, p := range r.read(t, "e") {
		if !p.Emptied() || p.ExpiresAt == 0 {
			t.Errorf("left: %+v", p)
		}
	}
}

// TestFloors: nothing up to a floor is added after a Replace, whether a part has
// something, was emptied or is absent, and all that comes later is.
func TestFloors(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "emptied", 0, 2)
	r.merge(t, "e")
	r.fold(t, 0, "e", "holds", 0, 3)
	r.fold(t, 0, "e", "ahead", 0, 9)
	r.fold(t, 0, "e", "other", 0, 4)
	floors := map[string]string{"emptied": floor(6), "holds": floor(7), "ahead": floor(1), "absent": floor(5)}
	total := eventsOf(6, 7, 9, 5, 4)
	done, err := r.store.Replace(t.Context(), bucketOf("e").Key(), r.read(t, "e"), total, 0, floors)
	if err != nil || done.WriteUnits != 2*6 || done.Merged.Value.Events != 31 {
		t.Fatalf("%+v, %v", done, err)
	}
	absent := r.item(t, "e", "absent")
	if absent["v"] == nil || absent["expires_at"] == nil || asJSON(t, absent["seq"]) != asJSON(t, &types.AttributeValueMemberS{Value: floor(5) + "~"}) {
		t.Errorf("the absent part became %v", absent)
	}
	for _, container := range []int{0, 1} {
		for streamShard, to := range map[string]int{"emptied": 6, "holds": 7, "ahead": 9, "absent": 5, "other": 4} {
			r.fold(t, container, "e", streamShard, 0, to)
		}
	}
	r.check(t, "e", 6, 7, 9, 5, 4)
	for _, streamShard := range []string{"emptied", "holds", "ahead", "absent", "other"} {
		r.fold(t, 0, "e", streamShard, 3, 12)
	}
	r.check(t, "e", 12, 12, 12, 12, 12)
	read := r.read(t, "e")
	r.fold(t, 0, "e", "new", 0, 1)
	if _, err := r.store.Replace(t.Context(), bucketOf("e").Key(), read, total, 0, map[string]string{"new": floor(1)}); !errors.Is(err, parts.ErrMoved) {
		t.Errorf("a part came in between: %v", err)
	}
	many := map[string]string{}
	for i := range parts.MaxReplaced + 1 {
		many[fmt.Sprint("s", i)] = floor(1)
	}
	if _, err := r.store.Replace(t.Context(), bucketOf("none").Key(), nil, total, 0, many); err == nil || errors.Is(err, parts.ErrMoved) {
		t.Errorf("too many floors: %v", err)
	}
}

func TestTooManyParts(t *testing.T) {
	r := newRig(t)
	for i := range parts.MaxReplaced + 1 {
		r.fold(t, 0, "e", fmt.Sprintf("s%03d", i), 0, 1)
	}
	if err := r.replace("e", r.read(t, "e")); !errors.Is(err, parts.ErrMoved) {
		t.Fatalf("got %v", err)
	}
	if got := sum(r.read(t, "e")); got.Events != parts.MaxReplaced+1 {
		t.Fatalf("%d events after as many were merged as one transaction takes", got.Events)
	}
	r.merge(t, "e")
	if got := r.read(t, "e")[parts.MaxReplaced+1]; got.StreamShard != schema.MergedPart || got.Value.Events != parts.MaxReplaced+1 {
		t.Fatalf("got %+v", got)
	}
}

// TestExpiry: the merged part lasts as long as what it takes in, and the retention
// after the bucket's end.
func TestExpiry(t *testing.T) {
	r := newRig(t)
	const retention = 72 * time.Hour
	end := hour.Add(time.Hour)
	later := end.Add(100 * time.Hour).Unix()
	past := hour.Add(-time.Hour).Unix()
	for name, c := range map[string]struct {
		now       time.Time
		retention time.Duration
		expires   []int64 // of parts that hold something
		want      int64
	}{
		"for ever":             {end, 0, []int64{later}, 0},
		"by the bucket":        {end, retention, []int64{end.Unix()}, end.Add(retention).Unix()},
		"by a part":            {end, retention, []int64{later, end.Unix()}, later},
		"a part is for ever":   {end, retention, []int64{later, 0}, 0},
		"made of nothing":      {end.Add(time.Minute), retention, nil, end.Add(time.Minute + retention).Unix()},
		"ahead of its end":     {hour, retention, nil, end.Add(retention).Unix()},
		"expired ones are not": {end.Add(200 * time.Hour), retention, []int64{past, later}, end.Add(200*time.Hour + retention).Unix()},
	} {
		store := parts.NewEvents(r.db, r.table, func() time.Time { return c.now })
		var read []parts.Part[measures.Part]
		for i, at := range c.expires {
			read = append(read, parts.Part[measures.Part]{StreamShard: fmt.Sprint(i), Sequence: "1", ExpiresAt: at, Value: measures.Part{Events: 1}})
			r.put(t, name, read[i])
		}
		if _, err := store.Replace(t.Context(), bucketOf(name).Key(), read, measures.Part{Events: 1}, bucketOf(name).Expiry(read, c.retention, c.now), nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		list := r.read(t, name)
		if got := list[len(list)-1]; got.StreamShard != schema.MergedPart || got.ExpiresAt != c.want {
			t.Errorf("%s: expires at %d, want %d", name, got.ExpiresAt, c.want)
		}
	}
}

// put stores a part. It has no expiry, so that the engine does not delete it.
func (r *rig) put(t *testing.T, entity string, p parts.Part[measures.Part]) {
	t.Helper()
	item := p.Value.Attributes()
	item["seq"] = &types.AttributeValueMemberS{Value: p.Sequence}
	pk, sk := schema.RollupKey(entity, shard.Hour, hour, p.StreamShard)
	item["pk"], item["sk"] = &types.AttributeValueMemberS{Value: pk}, &types.AttributeValueMemberS{Value: sk}
	if _, err := r.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedParts(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "a", 0, 1)
	pk, sk := schema.RollupKey("e", shard.Hour, hour, "a")
	for _, set := range []string{"v = :x", "as_of = :x", "expires_at = :x", "events = :x"} {
		_, err := r.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &r.table, UpdateExpression: aws.String("SET " + set),
			Key:                       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}},
			ExpressionAttributeValues: map[string]types.AttributeValue{":x": &types.AttributeValueMemberS{Value: "x"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if list := r.read(t, "e"); list[0].Damage == nil || !strings.Contains(fmt.Sprint(parts.Damage(list)), `"a"`) {
			t.Errorf("%s: %+v", set, list)
		}
	}
}
