package parts

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// stored returns a fragment's item.
func stored(streamShard, sequence string, n int64, asOf time.Time) item {
	it := Rollup{Events: n}.Attributes()
	maps.Copy(it, dynamo.Key("p", streamShard))
	it[schema.RollupSequence] = dynamo.String(sequence)
	if !asOf.IsZero() {
		it[schema.AsOf] = dynamo.Number(asOf.UnixMilli())
	}
	return it
}

// TestFailedFolds checks what a fold returns if its update fails, or finds a fragment that can't be read.
func TestFailedFolds(t *testing.T) {
	broken := stored("s", "1", 1, now)
	broken["events"] = dynamo.String("x")
	for _, c := range []struct {
		err        error
		unreadable bool
		says       string
	}{
		{errors.New("down"), false, "down"},
		{&types.ConditionalCheckFailedException{Item: broken}, true, `folding into "p", "s"`},
		{&types.ConditionalCheckFailedException{}, false, ""}, // it was deleted
	} {
		f := &table{err: c.err}
		folder := events(f).Folder(f)
		folder.known.Set("p\x00s", part("s", "0", 7))
		err := folder.Fold(t.Context(), Key{Partitions: []string{"p"}}, "s", now, []Record[Rollup]{{"1", func(*Rollup) {}}})
		n, _ := dynamo.Whole(f.update.ExpressionAttributeValues, ":events")
		if err == nil || errors.Is(err, ErrUnreadable) != c.unreadable || !strings.Contains(err.Error(), c.says) || (n == 0) != (c.says == "") {
			t.Errorf("after %v: %v, then %d events", c.err, err, n)
		}
	}
}

// TestFailedMerge checks that a merge whose transaction fails returns the fragments as they were read.
func TestFailedMerge(t *testing.T) {
	read := []Part[Rollup]{part("a", "1", 1), part("b", "1", 2)}
	f := &table{err: errors.New("down")}
	left, done, err := events(f).Merge(t.Context(), Key{Partitions: []string{"p"}}, read, read, 0)
	if len(left) != 2 || err == nil || done.WriteUnits != 0 {
		t.Errorf("%+v, %+v, %v", left, done, err)
	}
	f.err = nil
	left, done, err = events(f).Merge(t.Context(), Key{Partitions: []string{"p"}}, append(read, part("c", "1", 4)), read, 0)
	if err != nil || len(left) != 2 || left[0].StreamShard != "c" || left[1].Value.Events != 3 || !left[1].Merged() || done.Emptied != 2 || len(f.puts) != 3 {
		t.Errorf("%+v, %+v, %v", left, done, err)
	}
	for i, want := range []string{"seq = :was", "seq = :was", "attribute_not_exists(pk)"} {
		if got := aws.ToString(f.puts[i].Put.ConditionExpression); got != want {
			t.Errorf("put %d is on the condition %q, want %q", i, got, want)
		}
	}
}

// TestWhatHolds checks which sums a merged fragment holds. Other sums are nothing, and expire.
func TestWhatHolds(t *testing.T) {
	for _, c := range []struct {
		p    Rollup
		want bool
	}{
		{Rollup{}, false}, {Rollup{Events: 1}, true}, {Rollup{Skipped: 1}, true}, {wide(1), true},
	} {
		merged := events(nil).newMerged(c.p, 7, now)
		if merged.Emptied() == c.want || (merged.ExpiresAt == 7) != c.want || !c.want && merged.ExpiresAt != now.Add(48*time.Hour).Unix() {
			t.Errorf("%+v: %+v", c.p, merged)
		}
	}
}
