package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// recheck and maxLag are the recheck age in tests, and a bound of the index's lag.
const (
	recheck = 30 * time.Second
	maxLag  = 20 * time.Second
)

// broken is a board of size 2 whose settings and entries may fail. The entries expire.
type broken struct {
	*ranked
	settings, entries error
	expires           time.Time
}

func (b *broken) Settings(context.Context, string, time.Time) (boards.Settings, error) {
	return boards.Settings{Size: 2}, b.settings
}

func (b *broken) Entries(ctx context.Context, name, period string, players []string, now time.Time) (map[string]boards.Entry, error) {
	found, _ := b.ranked.Entries(ctx, name, period, players, now)
	damaged, _ := errors.AsType[boards.DamagedEntries](b.entries)
	for player, e := range found {
		e.Expires = b.expires
		found[player] = e
		if damaged[player] != nil {
			delete(found, player)
		}
	}
	return found, b.entries
}

// topTable is a rollups table with a top, which fails updates of tops.
type topTable struct {
	Client
	stored dynamo.Item
	err    error
	notes  int
	tops   []*dynamodb.UpdateItemInput
}

func (f *topTable) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: f.stored}, nil
}

func (f *topTable) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if dynamo.Text(in.Key, schema.SK) != schema.TopSK {
		f.notes++
		return &dynamodb.UpdateItemOutput{}, nil
	}
	f.tops = append(f.tops, in)
	return &dynamodb.UpdateItemOutput{}, f.err
}

// emptyTop returns a stored top that is whole, with this attribute.
func emptyTop(attribute string, value types.AttributeValue) dynamo.Item {
	top := dynamo.Item{
		schema.Version: dynamo.Decimal(schema.BoardVersion), schema.TopVersion: dynamo.Number(3),
		schema.TopPlaces: &types.AttributeValueMemberB{Value: parts.NewTop().Bytes()}, schema.TopWhole: &types.AttributeValueMemberBOOL{Value: true},
	}
	if attribute != "" {
		top[attribute] = value
	}
	return top
}

// TestFoldsOfATop folds the first scores of p0 and p1 into a top, and checks what is stored, and whether the top is noted:
// if it is busy or a read is throttled, the boards task rechecks it. A damaged entry fails its record alone.
func TestFoldsOfATop(t *testing.T) {
	stored, throttled, down := emptyTop("", nil), fmt.Errorf("reading: %w", shard.ErrThrottled), fmt.Errorf("reading: %w", shard.ErrUnavailable)
	for name, c := range map[string]struct {
		board     broken
		stored    dynamo.Item
		update    error
		notes     int
		players   string // of the stored top; "" if none is stored
		expires   string
		fails     bool
		sequences []string // of the records that fail for good
	}{
		"a stored top":         {broken{}, stored, nil, 0, "p0 p1", "", false, nil},
		"a period's top":       {broken{expires: time.Unix(5000, 0)}, nil, nil, 2, "p0 p1", "5000", false, nil},
		"a first top":          {broken{}, nil, nil, 2, "p0 p1", "", false, nil},
		"an unreadable top":    {broken{}, emptyTop(schema.TopPlaces, dynamo.String("x")), nil, 2, "p0 p1", "", false, nil},
		"an unreadable form":   {broken{}, emptyTop(schema.Version, dynamo.Number(2)), nil, 2, "p0 p1", "", false, nil},
		"a busy top":           {broken{}, stored, &types.ConditionalCheckFailedException{Item: stored}, 1, "p0 p1", "", false, nil},
		"a throttled top":      {broken{}, stored, &types.ProvisionedThroughputExceededException{}, 1, "p0 p1", "", false, nil},
		"a failed update":      {broken{}, stored, errors.New("down"), 0, "p0 p1", "", true, nil},
		"an unavailable board": {broken{settings: down}, stored, nil, 0, "", "", true, nil},
		"a damaged board":      {broken{settings: errors.New("torn")}, stored, nil, 0, "p0 p1", "", false, nil},
		"unavailable entries":  {broken{entries: down}, stored, nil, 0, "", "", true, nil},
		"throttled entries":    {broken{entries: throttled}, stored, nil, 1, "", "", false, nil},
		"unreadable entries":   {broken{entries: errors.New("torn")}, stored, nil, 0, "", "", true, []string{"7", "8"}},
		"a damaged entry":      {broken{entries: boards.DamagedEntries{"p1": errors.New("torn")}}, stored, nil, 0, "p0", "", true, []string{"8"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.board.ranked = &ranked{shown: 2, present: 2}
			db := &topTable{stored: c.stored, err: c.update}
			f := newTopFolder(db, Settings{RollupsTable: "rollups", BoardRecheck: recheck}, &c.board, time.Now, slog.New(slog.DiscardHandler))
			s := &boardChanges{Period: parts.Period{Board: "b", Label: "all"}}
			for i, sequence := range []string{"7", "8"} {
				place := boards.Place{Player: fmt.Sprint("p", i), At: time.UnixMilli(int64(i))}
				s.entries = append(s.entries, entryChange{state: parts.EntryState{Place: place, Rev: 1, Present: true}, to: new(boards.Score), sequence: sequence})
			}
			if size, _ := f.boardSize(t.Context(), "b"); c.board.settings == nil && size != 2 {
				t.Errorf("%s: its size is %d, want 2", name, size)
			}
			err := f.fold(t.Context(), s)
			sequences := []string(nil)
			if some, ok := errors.AsType[*partialError](err); ok {
				sequences = some.sequences
			} else if err != nil && isPermanent(err) {
				sequences = s.sequences()
			}
			if (err != nil) != c.fails || db.notes != c.notes || !slices.Equal(sequences, c.sequences) {
				t.Errorf("%s: %v, %d notes, failed records %v; want %+v", name, err, db.notes, sequences, c)
			}
			if len(db.tops) == 0 {
				if c.players != "" {
					t.Errorf("%s: no top is stored", name)
				}
				return
			}
			values := db.tops[len(db.tops)-1].ExpressionAttributeValues
			top, err := parts.ParseTop(values[":next_places"].(*types.AttributeValueMemberB).Value, values[":next_whole"].(*types.AttributeValueMemberBOOL).Value)
			var players []string
			if err == nil {
				for _, p := range top.Places() {
					players = append(players, p.Player)
				}
			}
			if strings.Join(players, " ") != c.players || dynamo.Digits(values, ":expires") != c.expires {
				t.Errorf("%s: %v are stored until %q, %v; want %s until %q", name, players, dynamo.Digits(values, ":expires"), err, c.players, c.expires)
			}
		})
	}
}

// noteTable is a rollups table with notes, and without tops. It records which notes are deleted and postponed.
type noteTable struct {
	topTable
	mu                 sync.Mutex
	list               []dynamo.Item
	deleted, postponed []string
	fails              error
}

func (f *noteTable) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	for _, n := range f.list {
		if dynamo.Text(n, schema.PK) == dynamo.Text(in.ExpressionAttributeValues, ":pk") {
			out.Items = append(out.Items, n)
		}
	}
	return out, f.fails
}

func (f *noteTable) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.postponed = append(f.postponed, dynamo.Text(in.Key, schema.SK))
	return &dynamodb.UpdateItemOutput{}, nil
}

func (f *noteTable) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted = append(f.deleted, dynamo.Text(in.Key, schema.SK))
	return &dynamodb.DeleteItemOutput{}, nil
}

// TestRunsOfTheBoardsTask checks which notes a run handles, the oldest first, and which it deletes or postpones.
func TestRunsOfTheBoardsTask(t *testing.T) {
	type note struct {
		board       string
		since, last time.Duration // ago
	}
	old, young := note{"old", 40 * time.Second, 40 * time.Second}, note{"young", 29 * time.Second, 29 * time.Second}
	due, busy := note{"due", recheck, recheck}, note{"busy", 50 * time.Second, time.Second}
	for name, c := range map[string]struct {
		notes              []note
		most               int
		board, read        error
		answer             recheckAnswer
		deleted, postponed string
	}{
		"none":               {nil, 9, nil, nil, recheckAnswer{}, "", ""},
		"those that are due": {[]note{young, due, old}, 9, nil, nil, recheckAnswer{Looked: 2, Later: 1}, "due old", ""},
		"the oldest":         {[]note{due, young, old}, 1, nil, nil, recheckAnswer{Looked: 1, Later: 2}, "old", ""},
		"noted since":        {[]note{busy, old}, 9, nil, nil, recheckAnswer{Looked: 2}, "old", "busy"},
		"all fail":           {[]note{due, old}, 9, errors.New("down"), nil, recheckAnswer{Looked: 2, Failed: 2}, "", "due old"},
		"unreadable notes":   {nil, 9, nil, errors.New("down"), recheckAnswer{}, "", ""},
	} {
		now, db := time.Unix(1000, 0), &noteTable{fails: c.read}
		for _, n := range c.notes {
			it := dynamo.Key(schema.NoteKey(n.board, "all"))
			it[schema.NoteSince], it[schema.NoteLast] = dynamo.Number(now.Add(-n.since).UnixMilli()), dynamo.Number(now.Add(-n.last).UnixMilli())
			db.list = append(db.list, it)
		}
		board := &broken{ranked: &ranked{}}
		if c.board != nil {
			board.settings = fmt.Errorf("%w: %w", shard.ErrUnavailable, c.board)
		}
		f := newRecheckTask(newTopFolder(db, Settings{BoardRecheck: recheck}, board, func() time.Time { return now }, slog.New(slog.DiscardHandler)))
		f.maxRechecks = c.most
		answer, err := f.run(t.Context())
		if answer != c.answer || (err != nil) != (c.board != nil || c.read != nil) || errors.Is(err, errAllFailed) != (c.board != nil) {
			t.Errorf("%s: %+v, %v; want %+v", name, answer, err, c.answer)
		}
		for what, list := range map[string][2]string{"deleted": {namesOf(db.deleted), c.deleted}, "postponed": {namesOf(db.postponed), c.postponed}} {
			if list[0] != list[1] {
				t.Errorf("%s: %s %q, want %q", name, what, list[0], list[1])
			}
		}
	}
}

// namesOf returns the boards of notes by name.
func namesOf(keys []string) string {
	var list []string
	for _, key := range keys {
		list = append(list, strings.TrimSuffix(strings.TrimPrefix(key, "L#"), "#all"))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}
