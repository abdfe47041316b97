package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/terminal"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/spread"
)

// ShardsCheckCmd is hotshard shards check.
type ShardsCheckCmd struct {
	tables
	baseKey
	From   time.Time     `placeholder:"TIME" help:"RFC 3339: of an entity, events from then on. Default: 24h before --to."`
	To     time.Time     `placeholder:"TIME" help:"RFC 3339: of an entity, events before then. Default: now."`
	Period string        `enum:",all,day,week" default:"" help:"Of a board: all, or the day or week that holds now. Default: all."`
	Watch  time.Duration `placeholder:"10s" help:"Of a counter: how long its writes are counted, 1s to 1h. What was written before can't be told by write shard. Default: 10s."`
	JSON   bool          `name:"json" help:"Print the result as JSON."`
}

// defaultWatch is long enough for a counter that takes a write a second on each of a
// few write shards.
const defaultWatch = 10 * time.Second

// Validate finds faults of the command line.
func (c *ShardsCheckCmd) Validate() error {
	kind := schema.Type(c.Type)
	switch {
	case kind == schema.Limit:
		return errors.New("--type limit: a limit's windows are over before their spread would tell anything")
	case kind != schema.Entity && !(c.From.IsZero() && c.To.IsZero()):
		return errors.New("--from and --to are for an entity's events")
	case !c.From.IsZero() && !c.To.IsZero() && !c.From.Before(c.To):
		return errors.New("--from must be before --to")
	case kind != schema.Counter && c.Watch != 0:
		return errors.New("--watch is for a counter")
	case kind != schema.Board && c.Period != "":
		return errors.New("--period is for a board")
	case c.Watch != 0 && (c.Watch < time.Second || c.Watch > time.Hour):
		return fmt.Errorf("--watch %v: want 1s to 1h", c.Watch)
	}
	return c.tables.Validate()
}

// checked is the outcome.
type checked struct {
	Type    string         `json:"type"`
	Name    string         `json:"name"`
	Counted string         `json:"counted"` // what was: events, writes, entries, sessions
	Spreads []shownSpread  `json:"spreads"`
	bad     []shard.Spread // those that are uneven
}

// shownSpread is one of them.
type shownSpread struct {
	From         *time.Time    `json:"from,omitempty"`
	To           *time.Time    `json:"to,omitempty"`
	Shards       int           `json:"shards"`
	Counts       []int64       `json:"counts"` // by write shard
	Total        int64         `json:"total"`
	Mean         float64       `json:"mean"`
	MaxDeviation float64       `json:"max_deviation"` // a part of the mean
	Furthest     int           `json:"furthest"`      // the write shard that has it
	ChiSquare    float64       `json:"chi_square"`
	P            float64       `json:"p"`
	Verdict      shard.Verdict `json:"verdict"`
	Strays       int64         `json:"strays"` // beyond the shard count that was in force
	Unknown      []int         `json:"unknown,omitempty"`
}

// Run counts, and prints how even it is.
func (c *ShardsCheckCmd) Run(ctx context.Context, std streams) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	names := schema.NamesFor(c.Prefix)
	reader := spread.NewReader(client, names.Items, shardmap.New(client, names.ShardMap, shardmap.Options{}))
	result := checked{Type: c.Type, Name: c.Name}
	spreads, err := c.read(ctx, reader, &result)
	if err != nil {
		return c.explain(err)
	}
	for _, s := range spreads {
		result.add(s)
	}
	if err := c.show(std.out, result); err != nil {
		return err
	}
	if len(result.bad) > 0 {
		return fmt.Errorf("%d of %d spreads are uneven", len(result.bad), len(spreads))
	}
	return nil
}

func (c *ShardsCheckCmd) read(ctx context.Context, reader *spread.Reader, result *checked) ([]spread.Result, error) {
	now := time.Now()
	one := func(s spread.Result, err error) ([]spread.Result, error) { return []spread.Result{s}, err }
	switch schema.Type(c.Type) {
	case schema.Counter:
		result.Counted = "writes"
		return one(reader.Counter(ctx, c.Name, cmp.Or(c.Watch, defaultWatch), now))
	case schema.Board:
		result.Counted = "entries"
		return one(reader.Board(ctx, c.Name, cmp.Or(boards.Period(c.Period), boards.AllTime).Label(now), now))
	case schema.Sessions:
		result.Counted = "sessions"
		return one(reader.Sessions(ctx, c.Name, now))
	}
	result.Counted = "events"
	from, to := c.From, c.To
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-24 * time.Hour)
	}
	return reader.Events(ctx, c.Name, from, to, now)
}

func (r *checked) add(s spread.Result) {
	shown := shownSpread{
		Shards: len(s.Counts), Counts: s.Counts, Total: s.Total, Mean: s.Mean, MaxDeviation: s.MaxDeviation, Furthest: s.Furthest,
		ChiSquare: s.ChiSquare, P: s.P, Verdict: s.Verdict(), Strays: s.Strays, Unknown: s.Unknown,
	}
	if !s.From.IsZero() {
		shown.From, shown.To = &s.From, &s.To
	}
	r.Spreads = append(r.Spreads, shown)
	if s.Verdict() == shard.Uneven {
		r.bad = append(r.bad, s.Spread)
	}
}

func (c *ShardsCheckCmd) show(out io.Writer, r checked) error {
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

// print shows a spread: what each write shard has, and what that comes to.
func (s shownSpread) print(out io.Writer, counted string) error {
	t := terminal.NewTable("write shard", counted, "of the mean")
	for n, count := range s.Counts {
		t.Row(n, count, s.share(count))
	}
	title := fmt.Sprintf("%d %s on %d write shards", s.Total, counted, s.Shards)
	if s.From != nil {
		title += fmt.Sprintf(", %s to %s", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	}
	_, err := fmt.Fprintf(out, "%s\n%s\n%s\n", title, t.Render(), s.words(counted))
	return err
}

func (s shownSpread) share(count int64) string {
	if s.Mean == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(float64(count)/s.Mean-1))
}

// words is the verdict.
func (s shownSpread) words(counted string) string {
	text := fmt.Sprintf("%s: at most %.1f %% off the mean (write shard %d); chi-square %.2f, p = %.3g", s.Verdict, 100*s.MaxDeviation, s.Furthest, s.ChiSquare, s.P)
	switch s.Verdict {
	case shard.Unsharded:
		text = "not sharded: there is one write shard"
	case shard.TooFew:
		text = fmt.Sprintf("too few to tell: %d %s on %d write shards; five each are needed", s.Total, counted, s.Shards)
	case shard.Uneven:
		text += "\nchance does not explain that: are most writes of one id, or are some items written by other means?"
	}
	if s.Strays > 0 {
		text += fmt.Sprintf("\nand %d on further write shards, from another shard count", s.Strays)
	}
	if len(s.Unknown) > 0 {
		text += fmt.Sprintf("\nwrite shards %v were made meanwhile: their writes are not known", s.Unknown)
	}
	return text
}
