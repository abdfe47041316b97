package sessions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// index is a client of an index in memory whose rows are active sessions' sort keys, by write shard.
type index struct {
	oneItem
	page   int                                 // rows of a page; 0 is the query's limit
	during func(n int)                         // called after a write shard was read, by one query at a time
	fails  func(in *dynamodb.QueryInput) error // may be nil

	mu       sync.Mutex
	rows     map[int][]string
	ends     int64 // of all sessions, in milliseconds
	queries  []*dynamodb.QueryInput
	inFlight int
	most     int // queries in flight
}

func (x *index) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.queries, x.inFlight = append(x.queries, in), x.inFlight+1
	x.most = max(x.most, x.inFlight)
	x.mu.Unlock()
	time.Sleep(time.Millisecond)
	x.mu.Lock()
	x.inFlight--
	if x.fails != nil {
		if err := x.fails(in); err != nil {
			return nil, err
		}
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(dynamo.Text(in.ExpressionAttributeValues, ":shard"), "S#g#"))
	low, high := dynamo.Text(in.ExpressionAttributeValues, ":low"), dynamo.Text(in.ExpressionAttributeValues, ":high")
	after := dynamo.Text(in.ExclusiveStartKey, "sk")
	limit := int(*in.Limit)
	if x.page > 0 {
		limit = x.page
	}
	out := &dynamodb.QueryOutput{}
	for _, sk := range slices.Sorted(slices.Values(x.rows[n])) {
		if sk < low || sk > high || sk <= after {
			continue
		}
		if out.Items = append(out.Items, item{"sk": dynamo.String(sk), "started_at": dynamo.Number(1), "ends_at": dynamo.Number(x.ends)}); len(out.Items) == limit {
			out.LastEvaluatedKey = item{"sk": dynamo.String(sk)}
			break
		}
	}
	if x.during != nil {
		x.during(n)
	}
	return out, nil
}

// reader returns a reader of the group g with these changes of its shard count.
func (x *index) reader(history ...string) *Reader {
	return NewReader(x, "t", libtest.MapOf("S#g", history...))
}

// idsOf reads all ids at noon, in pages of a size; 0 reads them at once.
func idsOf(t *testing.T, r *Reader, page int) (ids []string, failed error) {
	for after, n := "", 0; ; n = 0 {
		for one, err := range r.List(t.Context(), "g", after, noon) {
			if err != nil {
				return ids, err
			}
			ids, after, n = append(ids, one.ID), one.ID, n+1
			if n == page {
				break
			}
		}
		if n == 0 || n != page {
			return ids, nil
		}
	}
}

// effective is a change of the shard count that takes effect before noon by this much.
func effective(before time.Duration, count int) string {
	return fmt.Sprintf("%.3f:%d", float64(noon.Add(-before).UnixMilli())/1000, count)
}

// TestQueriesOfAGroup checks the queries of write shards, whose limit bounds the rows of all, and that only 16 are in flight.
// While rows of active sessions may move, each chunk is read twice.
func TestQueriesOfAGroup(t *testing.T) {
	month := 720 * time.Hour
	for _, c := range []struct {
		history []string
		shards  int
		limit   int32
		reads   int
	}{
		{nil, 1, 5000, 1}, {[]string{"1:10"}, 10, 5000, 1}, {[]string{"1:11"}, 11, 4545, 1}, {[]string{"1:499"}, 499, 100, 1}, {[]string{"1:512"}, 512, 100, 1},
		{[]string{"1:40", "2:3"}, 40, 1250, 1}, {[]string{effective(month, 3)}, 3, 5000, 2}, {[]string{effective(month+time.Millisecond, 3)}, 3, 5000, 1},
		{[]string{effective(0, 3)}, 3, 5000, 2}, {[]string{effective(-time.Hour, 3)}, 3, 5000, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := &index{rows: map[int][]string{0: {"s#a"}}}
			n, err := x.reader(c.history...).Active(t.Context(), "g", noon)
			if err != nil || n != 1 || len(x.queries) != c.shards*c.reads || x.most != min(c.shards, 16) {
				t.Errorf("%v: Active = %d, %v in %d queries, of them %d at once; want 1 in %d, %d", c.history, n, err, len(x.queries), x.most, c.shards*c.reads, min(c.shards, 16))
			}
			want := &dynamodb.QueryInput{
				TableName: aws.String("t"), IndexName: aws.String("by_group"), ProjectionExpression: aws.String("sk, started_at, ends_at"), Limit: &c.limit,
				KeyConditionExpression: aws.String("session_shard = :shard AND sk BETWEEN :low AND :high"), FilterExpression: aws.String("ends_at > :now"),
				ExpressionAttributeValues: item{
					":shard": x.queries[0].ExpressionAttributeValues[":shard"], ":low": dynamo.String("s#"), ":high": dynamo.String("s$"), ":now": dynamo.Number(noon.UnixMilli()),
				},
			}
			if !reflect.DeepEqual(x.queries[0], want) {
				t.Errorf("%v: query %+v, want %+v", c.history, x.queries[0], want)
			}
		})
	}
}

// TestPagesOfAGroupEndAnywhere checks that ids come once and in order, wherever the pages of write shards end, whether rows may
// move or not.
func TestPagesOfAGroupEndAnywhere(t *testing.T) {
	seed := require.Seed(t)
	for world := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, world))
			shards := 1 + random.IntN(4)
			x, all := &index{page: 1 + random.IntN(5), rows: map[int][]string{}}, map[string]bool{}
			for range random.IntN(40) {
				id, n := fmt.Sprint(random.IntN(100)), random.IntN(shards)
				if !all[id] || random.IntN(9) == 0 { // a row that moves may be on two write shards
					x.rows[n] = append(x.rows[n], "s#"+id)
					slices.Sort(x.rows[n])
					x.rows[n] = slices.Compact(x.rows[n])
				}
				all[id] = true
			}
			var want []string
			for id := range all {
				want = append(want, id)
			}
			slices.Sort(want)
			history := "1:" + fmt.Sprint(shards)
			if random.IntN(2) == 0 {
				history = effective(time.Hour, shards)
			}
			r := x.reader(history)
			ids, err := idsOf(t, r, random.IntN(8))
			n, failed := r.Active(t.Context(), "g", noon)
			if !slices.Equal(ids, want) || err != nil || n != len(want) || failed != nil {
				t.Errorf("seed %d, world %d: List = %q, %v; Active = %d, %v; want %q", seed, world, ids, err, n, failed, want)
			}
			if limit := 2 * (len(want) + 1) * 2 * shards * 2 * 4; len(x.queries) > limit {
				t.Errorf("seed %d, world %d: %d queries, want at most %d", seed, world, len(x.queries), limit)
			}
		})
	}
}

// TestMovedRowsAreFound checks that a row which moves during a read, to a write shard that was read before, appears once if
// rows may move.
func TestMovedRowsAreFound(t *testing.T) {
	for history, want := range map[string][]string{effective(time.Hour, 20): {"a", "z"}, "1:20": {"a"}} {
		synctest.Test(t, func(t *testing.T) {
			x := &index{rows: map[int][]string{0: {"s#a"}, 19: {"s#z"}}} // write shard 19 is read after the first 16
			x.during = func(n int) {
				if n == 0 {
					x.rows[0], x.rows[19] = []string{"s#a", "s#z"}, nil
				}
			}
			if ids, err := idsOf(t, x.reader(history), 0); err != nil || !slices.Equal(ids, want) {
				t.Errorf("%s: List = %q, %v; want %q", history, ids, err, want)
			}
		})
	}
}

// TestReadsOfAGroupFail checks that a read ends with its first error, also in the second read of a chunk, and at once if the
// caller stops.
func TestReadsOfAGroupFail(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		second bool // only the second read fails
		want   []string
	}{"the first read": {false, nil}, "the second read": {true, nil}} {
		synctest.Test(t, func(t *testing.T) {
			x := &index{rows: map[int][]string{0: {"s#a", "s#b"}}}
			x.fails = func(*dynamodb.QueryInput) error {
				if c.second && len(x.queries) <= 2 {
					return nil
				}
				return broken
			}
			r := x.reader(effective(time.Hour, 2))
			ids, err := idsOf(t, r, 0)
			x.queries = nil
			n, failed := r.Active(t.Context(), "g", noon)
			if !errors.Is(err, broken) || !errors.Is(failed, broken) || n != 0 || !slices.Equal(ids, c.want) {
				t.Errorf("%s: List = %q, %v; Active = %d, %v; want the error", name, ids, err, n, failed)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		x := &index{rows: map[int][]string{0: {"s#a", "s#b", "s#c"}}, page: 1}
		for range x.reader().List(t.Context(), "g", "", noon) {
			break
		}
		if len(x.queries) != 1 {
			t.Errorf("%d queries after the caller stopped at the first id, want 1", len(x.queries))
		}
	})
}
