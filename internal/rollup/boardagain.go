package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// BoardsTask is the payload with which a schedule invokes the aggregator to look
// again at the tops that were made from the index. It is to come about as often as
// Settings.BoardRecheck says, or less often.
const (
	BoardsTask = `{"task":"` + boardsTask + `"}`
	boardsTask = "boards"
)

// looked is the task's answer.
type looked struct {
	Looked int `json:"looked"` // tops that were looked at
	Failed int `json:"failed"` // that could not be; they are due again after the recheck age
	Later  int `json:"later"`  // notes that are too young, or beyond the bound of a run
}

// looker does the task.
type looker struct {
	*topFolder
	looks int             // at tops, of one run
	told  memo.Memo[bool] // sort keys of notes that can't be read, of which the log has been told
}

func newLooker(tops *topFolder) *looker {
	return &looker{tops, maxLooks, memo.New[bool](maxTops)}
}

// maxLooks bounds the tops that one run looks at.
const maxLooks = 500

// note puts down that a top is to be looked at again. That is also how a top becomes
// longer when its board's size is raised, since the folds of some seconds still go
// by the old size. Until then it is short, which readers can tell.
func (f *topFolder) note(ctx context.Context, s *boardNews) error {
	return NoteBoard(ctx, f.client, f.table, s.Board, s.Label, f.now())
}

// NoteBoard puts down, in the rollups table, that the top of a board's period is to be
// looked at again: the task makes it right. The client needs UpdateItem only.
func NoteBoard(ctx context.Context, client dynamo.Updater, table, name, period string, now time.Time) error {
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: dynamo.Key(schema.NoteKey(name, period)),
		UpdateExpression:          aws.String("SET #v = :v, #last = :now, #since = if_not_exists(#since, :now)"),
		ExpressionAttributeNames:  map[string]string{"#v": schema.Version, "#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": dynamo.Number(1), ":now": dynamo.Number(now.UnixMilli())},
	})
	if err != nil {
		return fmt.Errorf("noting that board %q, period %s, is to be looked at again: %w", name, period, err)
	}
	return nil
}

// due is a note.
type due struct {
	boardNews
	since, last int64 // Unix milliseconds
}

// errAllFailed is the error of a run of the task that did nothing.
var errAllFailed = errors.New("all looks failed")

// lookAgain is the task. The notes that it leaves behind are due later, or again. It is
// an error when all looks failed.
func (f *looker) lookAgain(ctx context.Context) (answer looked, err error) {
	notes, err := f.notes(ctx)
	if err != nil {
		return answer, fmt.Errorf("reading which boards are to be looked at again: %w", err)
	}
	began := f.now().UnixMilli()
	before := began - f.recheck.Milliseconds()
	var ripe []due
	slices.SortStableFunc(notes, func(m, n due) int { return cmp.Compare(m.since, n.since) })
	for _, n := range notes {
		if n.since <= before && len(ripe) < f.looks {
			ripe = append(ripe, n)
		}
	}
	answer = looked{Looked: len(ripe), Later: len(notes) - len(ripe)}
	var one error
	var mu sync.Mutex
	each(ripe, func(n due) {
		if err := f.look(ctx, &n, began); err != nil {
			err = errors.Join(err, f.postpone(ctx, &n.boardNews, began)) // others are due as well
			f.log.Error("not looked at again", "board", n.Board, "period", n.Label, "error", err)
			mu.Lock()
			defer mu.Unlock()
			answer.Failed++
			one = err
		}
	})
	if answer.Looked > 0 && answer.Failed == answer.Looked {
		return answer, fmt.Errorf("looking again at %d boards: %w, one of them: %w", answer.Failed, errAllFailed, one)
	}
	return answer, nil
}

// look looks at one top, and clears its note if that was late enough for all that
// was noted.
func (f *looker) look(ctx context.Context, n *due, began int64) error {
	if err := f.settle(ctx, &n.boardNews, f.again, maxTopRounds); err != nil {
		return err
	}
	if len(n.damaged) > 0 {
		f.log.Error("entries can't be read: they are not in the top", "board", n.Board, "period", n.Label, "entries", len(n.damaged))
	}
	if n.last <= began-f.recheck.Milliseconds() {
		_, err := f.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &f.table, Key: dynamo.Key(schema.NoteKey(n.Board, n.Label)), ConditionExpression: aws.String("#last = :last"),
			ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast},
			ExpressionAttributeValues: map[string]types.AttributeValue{":last": dynamo.Number(n.last)},
		})
		if _, newer := dynamo.ConditionFailed(err); !newer {
			return err
		}
	}
	return f.postpone(ctx, &n.boardNews, began)
}

// postpone has a note be due again after the recheck age.
func (f *looker) postpone(ctx context.Context, s *boardNews, began int64) error {
	_, err := f.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &f.table, Key: dynamo.Key(schema.NoteKey(s.Board, s.Label)),
		UpdateExpression: aws.String("SET #since = :began"), ConditionExpression: aws.String("attribute_exists(#last)"),
		ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":began": dynamo.Number(began)},
	})
	if _, gone := dynamo.ConditionFailed(err); gone {
		return nil // another run was faster
	}
	return err
}

// spare is how many places beyond those held a look reads, so that some of them
// may turn out to be old ones.
const spare = 50

// again fills what a top covers from the index and from the entries themselves. If
// the index doesn't reach down to all of it, for players whom it still shows and
// who are not there any more, the top is noted anew.
func (f *looker) again(ctx context.Context, s *boardNews, top storedTop, size int) (*board.Top, error) {
	places, reach, err := f.index(ctx, s, f.hold(size)+spare)
	if err != nil {
		return nil, err
	}
	next := top.Clone()
	if top.version == 0 && top.damaged == nil {
		if len(places) == 0 {
			return next, nil // there is no such period, or no more
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
	if err := f.take(ctx, s, next, players); err != nil {
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
		return top.Clone(), err // the index shows only those who have left
	}
	return next, err
}

// notes reads all notes.
func (f *looker) notes(ctx context.Context) (list []due, err error) {
	for _, pk := range schema.NotePartitions() {
		in := &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
			ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(pk)},
		}
		for item, err := range dynamo.Items(ctx, f.client, in) {
			if err != nil {
				return nil, err
			}
			if len(list) == maxNotes {
				break
			}
			n, err := parseNote(item)
			if err != nil {
				f.tellOnce(pk, item, err)
				continue
			}
			list = append(list, n)
		}
	}
	return list, nil
}

// tellOnce logs, once in a container, that a note can't be read. Nobody of ours wrote it,
// nothing waits for it, and it stays until somebody deletes it.
func (f *looker) tellOnce(pk string, item dynamo.Item, err error) {
	key := dynamo.Text(item, schema.SK)
	if _, told := f.told.Get(key); told {
		return
	}
	f.told.Set(key, true)
	f.log.Error("a note of boards can't be read, and is left out", "partition", pk, "sort_key", key, "error", err)
}

// maxNotes bounds the notes that a run reads.
const maxNotes = 20_000

func parseNote(item dynamo.Item) (n due, err error) {
	sk := dynamo.Text(item, schema.SK)
	target, err := schema.ParseTarget(sk)
	if err != nil || target.Base.Type != schema.Board {
		return n, fmt.Errorf("its sort key is %.80q, not a board's period", sk)
	}
	n.Period = parts.Period{Board: target.Base.Name, Label: target.Period}
	var since, last bool
	n.since, since = dynamo.Whole(item, schema.NoteSince)
	n.last, last = dynamo.Whole(item, schema.NoteLast)
	if !since || !last {
		return n, fmt.Errorf("%q: its %s or its %s is not a time", sk, schema.NoteSince, schema.NoteLast)
	}
	return n, nil
}
