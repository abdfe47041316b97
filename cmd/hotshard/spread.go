package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/spread"
)

// ShardsSpreadCmd is hotshard shards spread, which measures how evenly a key uses its write shards.
type ShardsSpreadCmd struct {
	tableFlags
	baseKey
	From   time.Time     `placeholder:"TIME" help:"RFC 3339. For an entity: count events from then on. Default: 24h before --to."`
	To     time.Time     `placeholder:"TIME" help:"RFC 3339. For an entity: count events before then. Default: now."`
	Period string        `enum:",all,day,week,month" default:"" help:"For a board: all, or the current day, week or month. Default: all."`
	Watch  time.Duration `placeholder:"10s" help:"For a counter: how long to count its writes, 1s to 1h. Earlier writes leave no trace per write shard. Default: 10s."`
	JSON   bool          `name:"json" help:"Print the result as JSON."`
}

// defaultWatch suffices to judge a counter whose write shards get a write a second each: five each are needed.
const defaultWatch = 10 * time.Second

// Validate returns an error if the flags are invalid.
func (c *ShardsSpreadCmd) Validate() error {
	counting, known := spreadOf[schema.Kind(c.Type)]
	hasTime := !c.From.IsZero() || !c.To.IsZero()
	switch {
	case known && counting.count == nil:
		return fmt.Errorf("--type %s can't be measured: a limit's windows are too short to measure how evenly its writes are spread", c.Type)
	case hasTime && !counting.hasTime:
		return errors.New("--from and --to need --type entity")
	case !c.From.IsZero() && !c.To.IsZero() && !c.From.Before(c.To):
		return errors.New("--from must be before --to")
	case c.Watch != 0 && !counting.hasWatch:
		return errors.New("--watch needs --type counter")
	case c.Period != "" && !counting.hasPeriod:
		return errors.New("--period needs --type board")
	case c.Watch != 0 && (c.Watch < time.Second || c.Watch > time.Hour):
		return fmt.Errorf("--watch %v: want 1s to 1h", c.Watch)
	}
	return c.tableFlags.Validate()
}

// spreadResult is the result as printed in JSON.
type spreadResult struct {
	Type    string        `json:"type"`
	Name    string        `json:"name"`
	Counted string        `json:"counted"` // what was counted: events, writes, entries or sessions
	Spreads []shownSpread `json:"spreads"`
}

// shownSpread is a spread as printed, with its shard count and verdict.
type shownSpread struct {
	spread.Result
	Shards  int           `json:"shards"`
	Verdict shard.Verdict `json:"verdict"`
}

// Run prints how evenly the key's writes or items are spread over its write shards. Uneven spreads are an error.
func (c *ShardsSpreadCmd) Run(ctx context.Context, std streams) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	names := schema.NamesFor(c.Prefix)
	reader := spread.NewReader(client, names.Of(schema.Kind(c.Type)), shardmap.New(client, names.ShardMap, shardmap.Options{}))
	counting := spreadOf[schema.Kind(c.Type)]
	result := spreadResult{Type: c.Type, Name: c.Name, Counted: counting.counted}
	spreads, err := counting.count(c, ctx, reader, time.Now())
	if err != nil {
		return c.explainError(err)
	}
	uneven := 0
	for _, s := range spreads {
		result.Spreads = append(result.Spreads, shownSpread{s, len(s.Counts), s.Verdict()})
		if s.Verdict() == shard.Uneven {
			uneven++
		}
	}
	if err := c.printSpread(std.out, result); err != nil {
		return err
	}
	if uneven > 0 {
		return fmt.Errorf("%d of %d spreads of %s %q are uneven: their verdicts say more", uneven, len(spreads), c.Type, c.Name)
	}
	return nil
}

// counting is how the spread of a kind is counted.
type counting struct {
	counted string // what is counted, such as writes
	count   func(c *ShardsSpreadCmd, ctx context.Context, r *spread.Reader, now time.Time) ([]spread.Result, error)

	hasTime, hasWatch, hasPeriod bool // whether --from and --to, --watch and --period apply
}

var spreadOf = map[schema.Kind]counting{
	schema.Counter: {counted: "writes", count: (*ShardsSpreadCmd).writes, hasWatch: true},
	schema.Event:   {counted: "events", count: (*ShardsSpreadCmd).events, hasTime: true},
	schema.Board:   {counted: "entries", count: (*ShardsSpreadCmd).entries, hasPeriod: true},
	schema.Session: {counted: "sessions", count: (*ShardsSpreadCmd).sessions},
	schema.Limit:   {}, // can't be measured
}

func (c *ShardsSpreadCmd) writes(ctx context.Context, r *spread.Reader, now time.Time) ([]spread.Result, error) {
	return listOfOne(r.Counter(ctx, c.Name, cmp.Or(c.Watch, defaultWatch), now))
}

func (c *ShardsSpreadCmd) events(ctx context.Context, r *spread.Reader, now time.Time) ([]spread.Result, error) {
	from, to := c.From, c.To
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-24 * time.Hour)
	}
	return r.Events(ctx, c.Name, from, to, now)
}

func (c *ShardsSpreadCmd) entries(ctx context.Context, r *spread.Reader, now time.Time) ([]spread.Result, error) {
	return listOfOne(r.Board(ctx, c.Name, cmp.Or(boards.Period(c.Period), boards.AllTime).Label(now), now))
}

func (c *ShardsSpreadCmd) sessions(ctx context.Context, r *spread.Reader, now time.Time) ([]spread.Result, error) {
	return listOfOne(r.Sessions(ctx, c.Name, now))
}

func listOfOne(s spread.Result, err error) ([]spread.Result, error) {
	return []spread.Result{s}, err
}

func (c *ShardsSpreadCmd) printSpread(out io.Writer, r spreadResult) error {
	if c.JSON {
		return printJSON(out, r)
	}
	for _, s := range r.Spreads {
		if err := s.print(out, r.Counted); err != nil {
			return err
		}
	}
	return nil
}

func (s shownSpread) print(out io.Writer, counted string) error {
	t := newTable("write shard", counted, "against the mean")
	for n, count := range s.Counts {
		t.Row(n, count, s.deviation(count))
	}
	title := fmt.Sprintf("%s: %d, on %s", counted, s.Total, display.Several(s.Shards, "write shard"))
	if !s.From.IsZero() {
		title += fmt.Sprintf(", %s to %s", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	}
	_, err := fmt.Fprintf(out, "%s\n%s\n%s\n", title, t.Render(), s.verdictText())
	return err
}

// deviation returns a count's deviation from the mean, in percent, or "" if nothing was counted.
func (s shownSpread) deviation(count int64) string {
	if s.Mean == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", 100*(float64(count)/s.Mean-1))
}

// verdictText returns the verdict, and what it leaves out: items on write shards of another count, and new ones.
func (s shownSpread) verdictText() string {
	text := fmt.Sprintf("%s: write shard %d deviates most, by %.1f%% of the mean", s.Verdict, s.Furthest, 100*s.MaxDeviation)
	switch s.Verdict {
	case shard.Unsharded:
		text = "not sharded: one write shard"
	case shard.TooFew:
		text = "too few to judge: each write shard needs at least five on average"
	case shard.Uneven:
		text += "\nChance does not explain this. Perhaps most writes have the same id, or another program writes items."
	}
	if s.Strays > 0 {
		text += fmt.Sprintf("\n%d more on write shards of another count", s.Strays)
	}
	if len(s.Unknown) > 0 {
		text += fmt.Sprintf("\nWrite shards %v were added during the count and are not included.", s.Unknown)
	}
	return text
}
