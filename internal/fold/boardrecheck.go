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
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// BoardsTask is the payload with which a schedule invokes the aggregator to recheck tops and move rows of the index. The
// interval should be Settings.BoardRecheck or longer.
const (
	BoardsTask = `{"task":"` + boardsTask + `"}`
	boardsTask = "boards"
)

// recheckAnswer is the task's answer.
type recheckAnswer struct {
	Looked int `json:"looked"` // notes that were handled: of tops or rows
	Failed int `json:"failed"` // handled notes that failed; they are due again after the recheck age
	Later  int `json:"later"`  // notes that are too recent, beyond the bounds of a run, or of a throttled index
	Moved  int `json:"moved"`  // rows that were moved in the index
}

// recheckTask handles the notes of boards.
type recheckTask struct {
	*topFolder
	maxRechecks int // most tops that one run rechecks
}

func newRecheckTask(tops *topFolder) *recheckTask {
	return &recheckTask{tops, maxRechecks}
}

const maxRechecks = 500 // tops in one run

// errAllFailed is the error of a run in which all notes failed.
var errAllFailed = errors.New("all rechecks failed")

// recheckRun is a run of the task.
type recheckRun struct {
	*recheckTask
	began   int64 // Unix milliseconds
	mu      sync.Mutex
	answer  recheckAnswer
	lastErr error // of one of the failed notes
}

// run handles the notes that are due, oldest first. It returns an error if all of them failed.
func (f *recheckTask) run(ctx context.Context) (recheckAnswer, error) {
	notes, err := f.readNotes(ctx)
	if err != nil {
		return recheckAnswer{}, fmt.Errorf("reading the notes of boards to recheck: %w", err)
	}
	r := &recheckRun{recheckTask: f, began: f.now().UnixMilli()}
	tops, rows := r.due(notes)
	forEach(tops, func(n dueNote) {
		r.recordOutcome(ctx, &n, f.storeAndRefold(ctx, &n.boardChanges, f.refillTop, maxTopRounds))
	})
	moved, later := f.moveRows(ctx, rows, func(n *dueNote, err error) { r.recordOutcome(ctx, n, err) })
	r.answer.Moved, r.answer.Later = moved, r.answer.Later+later
	if r.answer.Looked > 0 && r.answer.Failed == r.answer.Looked {
		return r.answer, fmt.Errorf("rechecking %d boards: %w; one error: %w", r.answer.Failed, errAllFailed, r.lastErr)
	}
	return r.answer, nil
}

// due returns the notes whose since is at least the recheck age ago, oldest first: at most maxRechecks of tops, and all
// of rows. It counts all other notes as Later.
func (r *recheckRun) due(notes []dueNote) (tops, rows []dueNote) {
	slices.SortStableFunc(notes, func(m, n dueNote) int { return cmp.Compare(m.since, n.since) })
	for _, n := range notes {
		isDue := n.since <= r.began-r.recheck.Milliseconds()
		switch {
		case isDue && n.players != nil:
			rows = append(rows, n)
		case isDue && len(tops) < r.maxRechecks:
			tops = append(tops, n)
		default:
			r.answer.Later++
		}
	}
	return tops, rows
}

// recordOutcome passes a note that was handled without an error to deleteOrPostpone, and postpones any other. It counts the note.
func (r *recheckRun) recordOutcome(ctx context.Context, n *dueNote, err error) {
	if err == nil {
		err = r.deleteOrPostpone(ctx, n)
	}
	if err != nil {
		err = errors.Join(err, r.postpone(ctx, n))
		r.log.Error("the recheck of a board failed", "board", n.Board, "period", n.Label, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer.Looked++
	if err != nil {
		r.answer.Failed++
		r.lastErr = err
	}
}

// deleteOrPostpone deletes a handled note whose last cause is older than the recheck age. It postpones any other note,
// also one that got a cause since it was read.
func (r *recheckRun) deleteOrPostpone(ctx context.Context, n *dueNote) error {
	if len(n.damaged) > 0 {
		r.log.Error("entries can't be read: they are not in the top", "board", n.Board, "period", n.Label, "entries", len(n.damaged))
	}
	if n.last > r.began-r.recheck.Milliseconds() {
		return r.postpone(ctx, n)
	}
	_, err := r.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &r.table, Key: n.key, ConditionExpression: aws.String("#last = :last"),
		ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast},
		ExpressionAttributeValues: map[string]types.AttributeValue{":last": dynamo.Number(n.last)},
	})
	if _, newer := dynamo.ConditionFailed(err); newer {
		return r.postpone(ctx, n)
	}
	return err
}

// postpone makes a note due again after the recheck age.
func (r *recheckRun) postpone(ctx context.Context, n *dueNote) error {
	_, err := r.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &r.table, Key: n.key,
		UpdateExpression: aws.String("SET #since = :began"), ConditionExpression: aws.String("attribute_exists(#last)"),
		ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":began": dynamo.Number(r.began)},
	})
	if _, changed := dynamo.ConditionFailed(err); changed {
		return nil // another run has deleted the note
	}
	return err
}

// spare is how many more places than a top holds a recheck reads, because some may be outdated.
const spare = 50

// refillTop is the topStep of a recheck. It reads the index's first places, and the entries of the players there and in
// the top, and returns the top that the entries make. If that covers more than the places that were read, it notes
// another recheck. If it is short, refillTop widens it.
func (f *recheckTask) refillTop(ctx context.Context, s *boardChanges, top storedTop, size int) (*parts.Top, error) {
	places, reach, err := f.readIndex(ctx, s, f.capacity(size)+spare)
	if err != nil {
		return nil, err
	}
	next := top.Clone()
	absent := top.version == 0 && top.damaged == nil
	if absent {
		if len(places) == 0 {
			return next, nil // the period doesn't exist, or no longer
		}
		next = parts.UnknownTop()
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
	next.Trim(f.capacity(size))
	if next.Exceeds(reach) { // the index still shows players who left
		err = f.noteRecheck(ctx, s)
	}
	if err == nil && next.IsShort(size) {
		err = f.widen(ctx, s, next, size)
	}
	if absent && len(next.Entries()) == 0 {
		return top.Clone(), err // the index shows only players who left
	}
	return next, err
}

// maxNotes bounds the notes of a partition key that one run reads.
const maxNotes = 2500
