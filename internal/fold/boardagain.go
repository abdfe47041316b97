package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// BoardsTask is the payload with which a schedule invokes the aggregator to recheck the tops that
// were built from the index, and to refresh the sums of histograms. The schedule's interval should be Settings.BoardRecheck or longer.
const (
	BoardsTask = `{"task":"` + boardsTask + `"}`
	boardsTask = "boards"
)

// looked is the task's answer.
type looked struct {
	Looked int `json:"looked"` // tops that were rechecked, sums that were refreshed, and notes of rows
	Failed int `json:"failed"` // of them those that failed; they are due again after the recheck age
	Later  int `json:"later"`  // notes that are too recent, beyond the bounds of a run, of a throttled index, or of merged fragments
	Moved  int `json:"moved"`  // rows of the index
}

// looker runs the task.
type looker struct {
	*topFolder
	looks  int             // most tops that one run rechecks
	few    int             // most fragments without a sum
	logged memo.Memo[bool] // sort keys of unreadable notes that were logged
}

func newLooker(tops *topFolder) *looker {
	return &looker{tops, maxLooks, parts.FewFragments, memo.New[bool](maxTops)}
}

// Bounds of one run: the tops that it rechecks, and the sums that it refreshes.
const (
	maxLooks = 500
	maxSums  = 100
)

const (
	aTop noted = iota
	aSum
	rows
)

// errAllFailed is the error of a run of the task that rechecked no top.
var errAllFailed = errors.New("all rechecks failed")

// lookAgain runs the task. Notes that remain are due later, or again. It returns an error if every
// recheck failed.
func (f *looker) lookAgain(ctx context.Context) (answer looked, err error) {
	notes, err := f.notes(ctx)
	if err != nil {
		return answer, fmt.Errorf("reading the notes of boards to recheck: %w", err)
	}
	began := f.now().UnixMilli()
	before := began - f.recheck.Milliseconds()
	ripe := map[noted][]due{}
	slices.SortStableFunc(notes, func(m, n due) int { return cmp.Compare(m.since, n.since) })
	most := map[noted]int{aTop: f.looks, aSum: maxSums, rows: len(notes)}
	for _, n := range notes {
		if n.since <= before && len(ripe[n.what]) < most[n.what] {
			ripe[n.what] = append(ripe[n.what], n)
		} else {
			answer.Later++
		}
	}
	var one error
	var mu sync.Mutex
	end := func(n *due, err error) {
		moved := errors.Is(err, parts.ErrMoved)
		if moved {
			err = f.postpone(ctx, n, began)
		} else if err == nil {
			err = f.finish(ctx, n, began)
		}
		if err != nil {
			err = errors.Join(err, f.postpone(ctx, n, began)) // go on with the others
			f.log.Error("not looked at again", "board", n.Board, "period", n.Label, "error", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if moved && err == nil {
			answer.Later++
			return
		}
		if answer.Looked++; err != nil {
			answer.Failed++
			one = err
		}
	}
	each(append(ripe[aTop], ripe[aSum]...), func(n due) { end(&n, f.look(ctx, &n)) })
	moved, later := f.moveRows(ctx, ripe[rows], end)
	answer.Moved, answer.Later = moved, answer.Later+later
	if answer.Looked > 0 && answer.Failed == answer.Looked {
		return answer, fmt.Errorf("rechecking %d boards: %w; one error: %w", answer.Failed, errAllFailed, one)
	}
	return answer, nil
}

// look rechecks one top, or refreshes one sum.
func (f *looker) look(ctx context.Context, n *due) error {
	if n.what == aSum {
		return f.refresh(ctx, n)
	}
	return f.settle(ctx, &n.boardNews, f.again, maxTopRounds)
}

// finish deletes a note if its look was late enough for everything noted.
func (f *looker) finish(ctx context.Context, n *due, began int64) error {
	if len(n.damaged) > 0 {
		f.log.Error("entries can't be read: they are not in the top", "board", n.Board, "period", n.Label, "entries", len(n.damaged))
	}
	if n.last <= began-f.recheck.Milliseconds() {
		_, err := f.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &f.table, Key: n.key, ConditionExpression: aws.String("#last = :last"),
			ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast},
			ExpressionAttributeValues: map[string]types.AttributeValue{":last": dynamo.Number(n.last)},
		})
		if _, newer := dynamo.ConditionFailed(err); !newer {
			return err
		}
	}
	return f.postpone(ctx, n, began)
}

// postpone makes a note due again after the recheck age.
func (f *looker) postpone(ctx context.Context, n *due, began int64) error {
	_, err := f.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &f.table, Key: n.key,
		UpdateExpression: aws.String("SET #since = :began"), ConditionExpression: aws.String("attribute_exists(#last)"),
		ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":began": dynamo.Number(began)},
	})
	if _, gone := dynamo.ConditionFailed(err); gone {
		return nil // another run has changed the note
	}
	return err
}

// spare is how many places a recheck reads beyond those held, because some of them may be outdated.
const spare = 50

// again fills the range that a top covers from the index and from the entries themselves. Players
// who left may crowd the index, so that it doesn't reach the end of the range. Then the top is
// noted again.
func (f *looker) again(ctx context.Context, s *boardNews, top storedTop, size int) (*board.Top, error) {
	places, reach, err := f.index(ctx, s, f.hold(size)+spare)
	if err != nil {
		return nil, err
	}
	next := top.Clone()
	if top.version == 0 && top.damaged == nil {
		if len(places) == 0 {
			return next, nil // the period doesn't exist, or no longer
		}
		next = board.UnknownTop()
	}
	var players []string
	for _, e := range next.Entries() {
		players = append(players, e.Player)
	}
	for _, p := range places {
		players = append(players, p.Player)
	}
	if err := f.readPlayers(ctx, s, next, players); err != nil {
		return nil, err
	}
	next.Trim(f.hold(size))
	if next.Wider(reach) {
		err = f.note(ctx, s)
	}
	if err == nil && next.Short(size) {
		err = f.widen(ctx, s, next, size)
	}
	if top.version == 0 && top.damaged == nil && len(next.Entries()) == 0 {
		return top.Clone(), err // the index shows only players who left
	}
	return next, err
}

// maxNotes bounds the notes of a partition key that one run reads.
const maxNotes = 2500
