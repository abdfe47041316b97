package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// flaky is a client that fails on purpose: before a write, which then is not
// made, or after it.
type flaky struct {
	*dynamodb.Client
	before func() error
	after  func() error

	mu   sync.Mutex
	lost int // writes whose answer was lost
}

func (f *flaky) wrap(write func() error) error {
	f.mu.Lock()
	err := error(nil)
	if f.before != nil {
		err = f.before()
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	if err := write(); err != nil || f.after == nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err = f.after(); err != nil {
		f.lost++
	}
	return err
}

func (f *flaky) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = f.wrap(func() error { out, err = f.Client.PutItem(ctx, in, o...); return err })
	return out, err
}

func (f *flaky) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	err = f.wrap(func() error { out, err = f.Client.DeleteItem(ctx, in, o...); return err })
	return out, err
}

func (f *flaky) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	err = f.wrap(func() error { out, err = f.Client.TransactWriteItems(ctx, in, o...); return err })
	return out, err
}

// faulty is a flaky client whose updates fail too.
type faulty struct{ *flaky }

func (f faulty) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = f.wrap(func() error { out, err = f.Client.UpdateItem(ctx, in, o...); return err })
	return out, err
}

func hot(reasons ...string) error {
	e := &types.ProvisionedThroughputExceededException{Message: aws.String("over")}
	for _, r := range reasons {
		e.ThrottlingReasons = append(e.ThrottlingReasons, types.ThrottlingReason{Reason: aws.String(r), Resource: aws.String("arn")})
	}
	return e
}

const (
	indexHot = "IndexWriteKeyRangeThroughputExceeded"
	tableHot = "TableWriteKeyRangeThroughputExceeded"
)

// lostAnswer is a network error.
type lostAnswer struct{}

func (lostAnswer) Error() string   { return "the connection broke" }
func (lostAnswer) Timeout() bool   { return true }
func (lostAnswer) Temporary() bool { return true }

// sometimes fails by chance, and the third time for sure: no run is without a
// fault, however few writes it makes.
func sometimes(random *rand.Rand, oneIn int, err error) func() error {
	n := 0
	return func() error {
		if n++; n == 3 || random.IntN(oneIn) == 0 {
			return err
		}
		return nil
	}
}

// storm is what some writers send at a time: every call its own time, every score
// its own, so that the outcome does not depend on their order.
type storm struct {
	calls [][]ddb.PlayerScore // one writer's after the other's
	times []time.Time
	model *boardModel
}

func newStorm(t testing.TB, mode ddb.Mode, now time.Time, calls int, random *rand.Rand) *storm {
	s := &storm{model: newBoardModel(ddb.BoardSettings{Mode: mode, Periods: []ddb.Period{ddb.AllTime}}, 0)}
	points := random.Perm(10 * calls)
	for i := range calls {
		var scores []ddb.PlayerScore
		for range 1 + random.IntN(3) {
			scores = append(scores, ddb.PlayerScore{Player: fmt.Sprint("p", random.IntN(4)), Score: score(t, strconv.Itoa(points[0]-4*calls))})
			points = points[1:]
		}
		s.calls, s.times = append(s.calls, scores), append(s.times, now.Add(time.Duration(i)*time.Millisecond))
		s.model.submit(scores, s.times[i])
	}
	return s
}

// send has each call sent by one of some writers, until it is taken.
func (s *storm) send(t *testing.T, writers []*ddb.Leaderboards, board string) {
	var wg sync.WaitGroup
	for i, boards := range writers {
		wg.Go(func() {
			for n := i; n < len(s.calls); n += len(writers) {
				for tries := 0; errors.Join(boards.Submit(within(t), board, s.calls[n], s.times[n])...) != nil; tries++ {
					if tries == 200 { // two of three fail, by chance
						t.Errorf("call %d was never taken", n)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestManyWritersLoseNothing sends scores of few players from several processes
// at a time: sums add up, the best is the highest, the latest the newest. With
// throttles and lost answers that stays so, but for sums, which may count once
// more for each lost answer.
func TestManyWritersLoseNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	for _, mode := range []ddb.Mode{ddb.Best, ddb.Latest, ddb.Total} {
		for _, faults := range []bool{false, true} {
			random := rand.New(rand.NewPCG(seed, 1))
			board, now := fmt.Sprint(mode, faults), later.Truncate(time.Millisecond)
			d.configure(t, board, ddb.BoardSettings{Mode: mode})
			client := &flaky{Client: d.client}
			if faults {
				client.before, client.after = sometimes(random, 5, hot(tableHot)), sometimes(random, 8, lostAnswer{})
			}
			var writers []*ddb.Leaderboards
			for range 4 {
				writers = append(writers, d.boards(client, ddb.Unwatched{}))
			}
			s := newStorm(t, mode, now, lane.Runs(24, 60), rand.New(rand.NewPCG(seed, 2)))
			s.send(t, writers, board)
			want := s.model.ranking("all", now)
			got, err := writers[0].Top(within(t), board, "all", 10, now)
			if err != nil {
				t.Fatal(err)
			}
			if faults && client.lost == 0 {
				t.Error("no answer was lost")
			}
			if !faults || mode != ddb.Total {
				samePlaces(t, board, got, want)
			}
		}
	}
}

// TestSumsCountOnceMoreForEachLostAnswerAtMost: one player, always 1.
func TestSumsCountOnceMoreForEachLostAnswerAtMost(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.configure(t, "b", ddb.BoardSettings{Mode: ddb.Total})
	n := 0
	client := &flaky{Client: d.client, after: func() error {
		if n++; n%3 == 0 {
			return lostAnswer{}
		}
		return nil
	}}
	boards, now, taken := d.boards(client, ddb.Unwatched{}), later, 0
	for range 30 {
		if boards.Submit(within(t), "b", scoresOf(t, "ann 1"), now)[0] == nil {
			taken++
		}
	}
	if got := d.entry(t, "b", "all", "ann", now).Score; client.lost == 0 || got != score(t, strconv.Itoa(taken+client.lost)) {
		t.Errorf("%d taken, %d answers lost, sum %s", taken, client.lost, got)
	}
}

// TestKeyedScoresCountOnce: several processes add to the same players by calls
// with keys, whose answers get lost.
func TestKeyedScoresCountOnce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	d.configure(t, "b", ddb.BoardSettings{Mode: ddb.Total, Periods: []ddb.Period{ddb.AllTime, ddb.Daily}})
	random := rand.New(rand.NewPCG(seed, 1))
	client := &flaky{Client: d.client, before: sometimes(random, 8, hot(tableHot)), after: sometimes(random, 5, lostAnswer{})}
	now := later
	var wg sync.WaitGroup
	const writers, calls = 4, 10
	for w := range writers {
		wg.Go(func() {
			boards, once := d.boards(client, ddb.Unwatched{}), ddb.NewOnce(client, d.names.Items, d.shards, ddb.Unwatched{})
			for i := range calls {
				call := ddb.Call{Key: fmt.Sprint(w, "-", i), Digest: []byte("d"), Answer: []byte("a")}
				actions := func(ctx context.Context) ([]types.TransactWriteItem, error) {
					return boards.SubmitTransact(ctx, "b", scoresOf(t, "ann 1", "bob 2", "ann 1"), now, later)
				}
				for tries := 0; ; tries++ {
					if _, err := once.Do(within(t), call, now, actions); err == nil {
						break
					} else if tries == 20 {
						t.Errorf("call %s: %v", call.Key, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for _, label := range []string{"all", ddb.Daily.Label(now)} {
		for _, player := range []string{"ann", "bob"} {
			if got := d.entry(t, "b", label, player, now).Score.String(); got != fmt.Sprint(2*writers*calls) {
				t.Errorf("%s in %s: %s, want %d; %d answers lost", player, label, got, 2*writers*calls, client.lost)
			}
		}
	}
	if client.lost == 0 {
		t.Error("no answer was lost")
	}
}

// TestAFailedConditionOfTheCallsOwnIsTriedAnew with actions that go by what is
// there then, and the marker's is not.
func TestAFailedConditionOfTheCallsOwnIsTriedAnew(t *testing.T) {
	d := deploy(t)
	boards, now := d.boards(d.client, ddb.Unwatched{}), later
	once := ddb.NewOnce(d.client, d.names.Items, d.shards, ddb.Unwatched{})
	attempts := 0
	actions := func(ctx context.Context) ([]types.TransactWriteItem, error) {
		list, err := boards.SubmitTransact(ctx, "b", scoresOf(t, "ann 5"), now, now)
		if attempts++; attempts < 3 { // another process is faster
			submit(t, d.boards(d.client, ddb.Unwatched{}), "b", now, fmt.Sprint("ann ", attempts))
		}
		return list, err
	}
	call := ddb.Call{Key: "k", Digest: []byte("d"), Answer: []byte("a")}
	if before, err := once.Do(within(t), call, now, actions); before != nil || err != nil || attempts != 3 {
		t.Fatalf("%d attempts: %q, %v", attempts, before, err)
	}
	if got := d.entry(t, "b", "all", "ann", now).Score.String(); got != "5" {
		t.Errorf("score %s", got)
	}
	if before, err := once.Do(within(t), call, now, actions); string(before) != "a" || err != nil || attempts != 4 {
		t.Errorf("again, %d attempts: %q, %v", attempts, before, err)
	}
	ctx, cancel := context.WithCancel(within(t))
	attempts = 0
	never := func(context.Context) ([]types.TransactWriteItem, error) {
		if attempts++; attempts == 3 {
			cancel()
		}
		return []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{
			TableName: &d.names.Items, ConditionExpression: aws.String("attribute_exists(pk)"),
			Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "x"}, "sk": &types.AttributeValueMemberS{Value: "-"}},
		}}}, nil
	}
	if _, err := once.Do(ctx, ddb.Call{Key: "l", Digest: []byte("d"), Answer: []byte("a")}, now, never); !errors.Is(err, ddb.ErrUnavailable) || attempts != 3 {
		t.Errorf("a condition that never holds, %d attempts: %v", attempts, err)
	}
}
