package rollup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/board"
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

// maxLooks bounds the tops that one run looks at.
const maxLooks = 500

// note puts down that a top is to be looked at again. That is also how a top becomes
// longer when its board's size is raised, since the folds of some seconds still go
// by the old size. Until then it is short, which readers can tell.
func (f *topFolder) note(ctx context.Context, s *standing) error {
	return NoteBoard(ctx, f.client, f.table, s.board, s.period, f.now())
}

// NoteBoard puts down, in the rollups table, that the top of a board's period is to be
// looked at again: the task makes it right. The client needs UpdateItem only.
func NoteBoard(ctx context.Context, client updater, table, name, period string, now time.Time) error {
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: attribute.Key(schema.NoteKey(name, period)),
		UpdateExpression:          aws.String("SET #v = :v, #last = :now, #since = if_not_exists(#since, :now)"),
		ExpressionAttributeNames:  map[string]string{"#v": schema.Version, "#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": attribute.Number(1), ":now": attribute.Number(now.UnixMilli())},
	})
	if err != nil {
		return fmt.Errorf("noting that board %q, period %s, is to be looked at again: %w", name, period, err)
	}
	return nil
}

// due is a note.
type due struct {
	standing
	since, last int64 // Unix milliseconds
}

// errAllFailed is the error of a run of the task that did nothing.
var errAllFailed = errors.New("all looks failed")

// lookAgain is the task. The notes that it leaves behind are due later, or again. It is
// an error when all looks failed.
func (f *topFolder) lookAgain(ctx context.Context) (answer looked, err error) {
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
			err = errors.Join(err, f.postpone(ctx, &n.standing, began)) // others are due as well
			f.log.Error("not looked at again", "board", n.board, "period", n.period, "error", err)
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
func (f *topFolder) look(ctx context.Context, n *due, began int64) error {
	if err := f.settle(ctx, &n.standing, f.again, maxTopRounds); err != nil {
		return err
	}
	if len(n.damaged) > 0 {
		f.log.Error("entries can't be read: they are not in the top", "board", n.board, "period", n.period, "entries", len(n.damaged))
	}
	if n.last <= began-f.recheck.Milliseconds() {
		_, err := f.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &f.table, Key: attribute.Key(schema.NoteKey(n.board, n.period)), ConditionExpression: aws.String("#last = :last"),
			ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast},
			ExpressionAttributeValues: map[string]types.AttributeValue{":last": attribute.Number(n.last)},
		})
		if newer := (*types.ConditionalCheckFailedException)(nil); !errors.As(err, &newer) {
			return err
		}
	}
	return f.postpone(ctx, &n.standing, began)
}

// postpone has a note be due again after the recheck age.
func (f *topFolder) postpone(ctx context.Context, s *standing, began int64) error {
	_, err := f.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &f.table, Key: attribute.Key(schema.NoteKey(s.board, s.period)),
		UpdateExpression: aws.String("SET #since = :began"), ConditionExpression: aws.String("attribute_exists(#last)"),
		ExpressionAttributeNames:  map[string]string{"#last": schema.NoteLast, "#since": schema.NoteSince},
		ExpressionAttributeValues: map[string]types.AttributeValue{":began": attribute.Number(began)},
	})
	if gone := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &gone) {
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
func (f *topFolder) again(ctx context.Context, s *standing, top storedTop, size int) (*board.Top, error) {
	places, last, err := f.index(ctx, s, f.hold(size)+spare)
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
	if last != nil && next.Beyond(*last) {
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
func (f *topFolder) notes(ctx context.Context) (list []due, err error) {
	for _, pk := range schema.NotePartitions() {
		pages := dynamodb.NewQueryPaginator(f.client, &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
			ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
		})
		for pages.HasMorePages() && len(list) < maxNotes {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, item := range page.Items {
				n, err := parseNote(item)
				if err != nil {
					f.tellOnce(pk, item, err)
					continue
				}
				list = append(list, n)
			}
		}
	}
	return list, nil
}

// tellOnce logs, once in a container, that a note can't be read. Nobody of ours wrote it,
// nothing waits for it, and it stays until somebody deletes it.
func (f *topFolder) tellOnce(pk string, item map[string]types.AttributeValue, err error) {
	key := attribute.TextOf(item, schema.SK)
	if _, told := f.told.GetIfPresent(key); told {
		return
	}
	f.told.Set(key, true)
	f.log.Error("a note of boards can't be read, and is left out", "partition", pk, "sort_key", key, "error", err)
}

// maxNotes bounds, roughly, the notes that a run reads.
const maxNotes = 20_000

func parseNote(item map[string]types.AttributeValue) (n due, err error) {
	sk, _ := item[schema.SK].(*types.AttributeValueMemberS)
	if sk == nil {
		return n, errors.New("it has no sort key")
	}
	target, err := schema.ParseTarget(sk.Value)
	if err != nil || target.Base.Type != schema.Board {
		return n, fmt.Errorf("its sort key is %.80q, not a board's period", sk.Value)
	}
	n.board, n.period = target.Base.Name, target.Period
	for name, into := range map[string]*int64{schema.NoteSince: &n.since, schema.NoteLast: &n.last} {
		digits, _ := numberIn(item)(name)
		if *into, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return n, fmt.Errorf("%q: its %s is %.40q", sk.Value, name, digits)
		}
	}
	return n, nil
}
