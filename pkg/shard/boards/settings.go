package boards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
)

// Settings are a board's settings. A zero field means its default, which also applies to a board
// that was never configured.
type Settings struct {
	Mode    Mode     // default Best
	Size    int      // entries of the top that the aggregator stores, 1 to 1000; default 100
	Periods []Period // default AllTime
}

// Settings are cached for settingsAge, for at most maxKnownBoards boards.
const (
	settingsAge    = 3 * time.Second
	maxKnownBoards = 10_000
)

// maxModeFixes bounds the attempts of fixModeAndRead. An attempt fails if another call has changed the mode.
const maxModeFixes = 10

// knownBoard is a board in a process's cache.
type knownBoard struct {
	Settings
	used bool // the board has a score, so its mode is fixed
	at   time.Time
}

// Settings returns a board's settings, complete with defaults and at most 3 s old.
func (l *Boards) Settings(ctx context.Context, board string, now time.Time) (Settings, error) {
	known, err := l.cachedSettings(ctx, board, now)
	known.Periods = slices.Clone(known.Periods) // a copy that the caller may change
	return known.Settings, err
}

// cachedSettings returns a board's settings from the cache if they are at most settingsAge old, or else from the table.
func (l *Boards) cachedSettings(ctx context.Context, board string, now time.Time) (knownBoard, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards, board)); err != nil {
		return knownBoard{}, err
	}
	now = now.Round(0)
	if hit, ok := l.known.Get(board); ok && now.Sub(hit.at).Abs() <= settingsAge {
		return hit, nil
	}
	it, err := l.readSettings(ctx, board)
	if err != nil {
		return knownBoard{}, err
	}
	return l.cacheSettings(board, it, now)
}

// readSettings returns the item of a board's settings, nil if there is none.
func (l *Reader) readSettings(ctx context.Context, board string) (dynamo.Item, error) {
	items, err := dynamo.BatchGet(ctx, l.client, l.table, []dynamo.Item{settingsKey(board)}, true)
	if err != nil {
		return nil, fmt.Errorf("reading the settings of board %q: %w", board, err)
	}
	if len(items) == 0 {
		return nil, nil
	}
	return items[0], nil
}

// cacheSettings caches and returns the settings of a board's item. A nil item means the defaults.
func (l *Boards) cacheSettings(board string, it dynamo.Item, now time.Time) (knownBoard, error) {
	settings, err := parseSettings(it)
	if err == nil {
		settings, err = settings.complete()
	}
	if err != nil {
		return knownBoard{}, fmt.Errorf("reading the stored settings of board %q: %w", board, err)
	}
	known := knownBoard{Settings: settings, used: dynamo.Bool(it, schema.BoardUsed), at: now}
	l.known.Set(board, known)
	return known, nil
}

func parseSettings(it dynamo.Item) (Settings, error) {
	size, err := dynamo.Integer(it, schema.BoardSize)
	s := Settings{Mode: Mode(dynamo.Text(it, schema.BoardMode)), Size: int(size)}
	for _, p := range strings.Split(dynamo.Text(it, schema.BoardPeriods), ",") {
		if p != "" {
			s.Periods = append(s.Periods, Period(p))
		}
	}
	return s, err
}

// complete returns the settings with their defaults, and with each period once, in order. Its error
// names every invalid setting.
func (s Settings) complete() (Settings, error) {
	var faults []error
	if s.Mode == "" {
		s.Mode = Best
	}
	if !slices.Contains([]Mode{Best, Lowest, Latest, Total}, s.Mode) {
		faults = append(faults, fmt.Errorf("mode %q: want best, lowest, latest or sum", s.Mode))
	}
	if s.Size == 0 {
		s.Size = schema.DefaultBoardSize
	}
	if s.Size < 1 || s.Size > schema.MaxBoardSize {
		faults = append(faults, fmt.Errorf("size %d: want 1 to %d", s.Size, schema.MaxBoardSize))
	}
	if len(s.Periods) == 0 {
		s.Periods = []Period{AllTime}
	}
	for _, p := range s.Periods {
		if !slices.Contains(Periods(), p) {
			faults = append(faults, fmt.Errorf("period %q: want all, day, week or month", p))
		}
	}
	s.Periods = slices.DeleteFunc(Periods(), func(p Period) bool { return !slices.Contains(s.Periods, p) })
	return s, errors.Join(faults...)
}

// Configure sets a board's settings. Invalid settings are ErrMisused. A change of mode is ErrModeFixed after the
// board's first score, even if its entries are gone. Other processes use the new size and periods within 3 s. A period
// that is left out keeps its entries; a new period starts empty.
func (l *Boards) Configure(ctx context.Context, board string, s Settings) error {
	if err := observe.CheckArguments(l.client, l.shards, board); err != nil {
		return err
	}
	s, err := s.complete()
	if err != nil {
		return fmt.Errorf("configuring board %q: %w: %w", board, shard.ErrMisused, err)
	}
	err = dynamo.Persist(ctx, func(ctx context.Context) error { return l.configure(ctx, board, s) })
	if err != nil {
		return fmt.Errorf("configuring board %q: %w", board, err)
	}
	l.known.Forget(board)
	return nil
}

// configure makes one attempt to set a board's complete settings. It writes on condition that no other call has set them
// since they were read. So an attempt that DynamoDB applies late changes no newer settings.
func (l *Boards) configure(ctx context.Context, board string, s Settings) error {
	it, err := l.readSettings(ctx, board)
	if err != nil {
		return err
	}
	rev, err := dynamo.Integer(it, schema.BoardRev)
	if err != nil {
		return err
	}
	values := dynamo.Item{":false": &types.AttributeValueMemberBOOL{}, ":next": dynamo.Number(rev + 1)}
	unchanged := "attribute_not_exists(rev)"
	if it[schema.BoardRev] != nil {
		unchanged, values[":rev"] = "rev = :rev", it[schema.BoardRev]
	}
	_, err = l.updateSettings(ctx, board, s,
		"SET #mode = :mode, #size = :size, #periods = :periods, #v = :v, #used = if_not_exists(#used, :false), rev = :next",
		unchanged+" AND (attribute_not_exists(#used) OR #used = :false OR #mode = :mode)", values)
	item, conditionFailed := dynamo.ConditionFailed(err)
	if !conditionFailed {
		return err
	}
	stored, err := parseSettings(item)
	switch {
	case err != nil:
		return err
	case dynamo.Bool(item, schema.BoardUsed) && stored.Mode != s.Mode:
		return ErrModeFixed
	case reflect.DeepEqual(stored, s): // by an earlier attempt
		return nil
	}
	return dynamo.ErrOutrun
}

// fixModeAndRead returns a board's settings, whose mode can't change any more. Before the first score on a board, it
// writes that the board is used, on condition that the mode is unchanged. Configure changes no mode of a used board.
func (l *Boards) fixModeAndRead(ctx context.Context, board string, now time.Time) (knownBoard, error) {
	known, err := l.cachedSettings(ctx, board, now)
	for round := 0; err == nil && !known.used; round++ {
		if round == maxModeFixes {
			return known, fmt.Errorf("storing that board %q has scores: %w: its mode was changed %d times meanwhile; try again", board, shard.ErrContended, round)
		}
		known, err = l.markUsed(ctx, board, known, now)
	}
	return known, err
}

// markUsed makes one attempt to mark a board as used, and returns the board's settings. If another call changed the mode,
// these are the changed settings, and the board is not marked.
func (l *Boards) markUsed(ctx context.Context, board string, known knownBoard, now time.Time) (knownBoard, error) {
	it, err := l.updateSettings(ctx, board, known.Settings,
		"SET #used = :true, #mode = :mode, #size = if_not_exists(#size, :size), #periods = if_not_exists(#periods, :periods), #v = :v",
		"attribute_not_exists(#mode) OR #mode = :mode", dynamo.Item{":true": &types.AttributeValueMemberBOOL{Value: true}})
	if changed, conditionFailed := dynamo.ConditionFailed(err); conditionFailed {
		it, err = changed, nil
	}
	if err != nil {
		return known, fmt.Errorf("storing that board %q has scores: %w", board, err)
	}
	return l.cacheSettings(board, it, now.Round(0))
}

// updateSettings makes a conditional update of a board's item with the values of s, and returns the item.
func (l *Boards) updateSettings(ctx context.Context, board string, s Settings, update, condition string, values dynamo.Item) (it dynamo.Item, err error) {
	var periods []string
	for _, p := range s.Periods {
		periods = append(periods, string(p))
	}
	values[":mode"] = dynamo.String(string(s.Mode))
	values[":size"] = dynamo.Number(int64(s.Size))
	values[":periods"] = dynamo.String(strings.Join(periods, ","))
	values[":v"] = dynamo.Number(1)
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		out, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &l.table, Key: settingsKey(board), UpdateExpression: &update, ConditionExpression: &condition,
			ExpressionAttributeNames: map[string]string{
				"#mode": schema.BoardMode, "#size": schema.BoardSize, "#periods": schema.BoardPeriods,
				"#used": schema.BoardUsed, "#v": schema.Version,
			},
			ExpressionAttributeValues:           values,
			ReturnValues:                        types.ReturnValueAllNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}, dynamo.NoRetry)
		if err == nil {
			it = out.Attributes
		}
		return err
	})
	return it, err
}

func settingsKey(board string) dynamo.Item { return dynamo.Key(schema.SettingsKey(board)) }
