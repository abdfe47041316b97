package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/client"
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
	Later  int `json:"later"`  // notes that are too recent, beyond the bounds of a run, or of a throttled index
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

// note stores that a top is to be rechecked. A recheck also makes a top longer after its board's
// size was raised, because folds use the old size for some seconds. Until then the top is short,
// which readers can detect.
func (f *topFolder) note(ctx context.Context, s *boardNews) error {
	return NoteBoard(ctx, f.client, f.table, s.Board, s.Label, f.now())
}

// NoteSum stores in the rollups table that the sum of the histogram of a board's period is to be
// refreshed: the task does it. The client needs UpdateItem only.
func NoteSum(ctx context.Context, client client.Updater, table, name, period string, now time.Time) error {
	return note(ctx, client, table, dynamo.Key(schema.SumNoteKey(name, period)), now)
}

// NoteBoard stores in the rollups table that the top of a board's period is to be rechecked: the
// task repairs it. The client needs UpdateItem only.
func NoteBoard(ctx context.Context, client client.Updater, table, name, period string, now time.Time) error {
	return note(ctx, client, table, dynamo.Key(schema.NoteKey(name, period)), now)
}

// note stores a note, unless there is one as new: others may count on its time.
func note(ctx context.Context, client client.Updater, table string, key dynamo.Item, now time.Time) error {
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: key, ConditionExpression: aws.String("attribute_not_exists(#last) OR #last < :now"),
		UpdateExpression:          aws.String("SET #v = :v, #last = :now, #since = if_not_exists(#since, :now)"),
		ExpressionAttributeNames:  map[string]string{"#v": schema.Version, "#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": dynamo.Number(1), ":now": dynamo.Number(now.UnixMilli())},
	})
	if _, newer := dynamo.ConditionFailed(err); err != nil && !newer {
		return fmt.Errorf("noting %q: %w", dynamo.Text(key, schema.SK), err)
	}
	return nil
}

// due is a stored note that a top is to be rechecked, a sum to be refreshed, or rows to be moved.
type due struct {
	boardNews
	key         dynamo.Item
	what        noted
	players     []string // whose rows are to be moved
	since, last int64    // Unix milliseconds
}

// noted is what a note is of.
type noted int

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
		if err == nil {
			err = f.finish(ctx, n, began)
		}
		if err != nil {
			err = errors.Join(err, f.postpone(ctx, n, began)) // go on with the others
			f.log.Error("not looked at again", "board", n.Board, "period", n.Label, "error", err)
		}
		mu.Lock()
		defer mu.Unlock()
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
		return top.Clone(), err // the index shows only players who left
	}
	return next, err
}

// notes returns the stored notes, maxNotes of each partition key at most. Those of tops come first.
func (f *looker) notes(ctx context.Context) (list []due, err error) {
	for _, pk := range schema.NotePartitions() {
		in := &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
			ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(pk)},
		}
		read := 0
		for item, err := range dynamo.Items(ctx, f.client, in) {
			if err != nil {
				return nil, err
			}
			if read++; read > maxNotes {
				f.log.Warn("too many notes of boards, the rest is left out", "partition", pk, "read", maxNotes)
				break
			}
			n, err := parseNote(item)
			if err != nil {
				f.logOnce(pk, item, err)
				continue
			}
			list = append(list, n)
		}
	}
	return list, nil
}

// logOnce logs, once in a container, that a note can't be read. No version of hotshard wrote it,
// and nothing waits for it. It stays until an operator deletes it.
func (f *looker) logOnce(pk string, item dynamo.Item, err error) {
	key := dynamo.Text(item, schema.SK)
	if _, told := f.logged.Get(key); told {
		return
	}
	f.logged.Set(key, true)
	f.log.Error("a note of boards can't be read, and is left out", "partition", pk, "sort_key", key, "error", err)
}

// maxNotes bounds the notes of a partition key that one run reads.
const maxNotes = 2500

func parseNote(item dynamo.Item) (n due, err error) {
	sk := dynamo.Text(item, schema.SK)
	top, sum := strings.CutPrefix(sk, schema.HistogramPrefix)
	if sum {
		n.what = aSum
	}
	if of, ok := schema.ParseRowsNote(sk); ok {
		players, _ := item[schema.NotePlayers].(*types.AttributeValueMemberSS)
		if players == nil {
			return n, fmt.Errorf("%q: its %s are not a set of strings", sk, schema.NotePlayers)
		}
		top, n.what, n.players = of, rows, players.Value
	}
	target, err := schema.ParseTarget(top)
	if err != nil || kind.Of(target.Base.Type).Summary != kind.Ranking {
		return n, fmt.Errorf("its sort key is %.80q, not a board's period", sk)
	}
	n.Period = parts.Period{Board: target.Base.Name, Label: target.Period}
	n.key = dynamo.Key(dynamo.Text(item, schema.PK), sk)
	var since, last bool
	n.since, since = dynamo.Whole(item, schema.NoteSince)
	n.last, last = dynamo.Whole(item, schema.NoteLast)
	if !since || !last {
		return n, fmt.Errorf("%q: its %s or its %s is not a time", sk, schema.NoteSince, schema.NoteLast)
	}
	return n, nil
}
