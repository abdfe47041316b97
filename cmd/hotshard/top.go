package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/ownkeys"
	"github.com/hotshard/hotshard/internal/tool/heatview"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/terminal"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TopCmd is hotshard top.
type TopCmd struct {
	heatFrom
	Since     time.Duration `placeholder:"15m" help:"Show the past, too: 10s to 24h. Default: 15m with --stack; with --table the stream is read from now on."`
	Index     string        `placeholder:"NAME" help:"Only partition keys of this index."`
	Prefix    string        `placeholder:"TEXT" help:"Only keys that begin with this."`
	Format    string        `placeholder:"TEXT" help:"With --table: what stands between a name and a write shard's number, such as #SHARD_. A name's write shards are one key then, with their sum."`
	Map       string        `placeholder:"TABLE" help:"With --format: the shard map of the table's programs."`
	Namespace string        `placeholder:"TEXT" help:"With --map: the prefix of the programs' table.Namespace."`
	Bucket    string        `enum:",day,hour,minute" default:"" placeholder:"day" help:"With --format: the layout's time buckets: day, hour or minute."`
	JSON      bool          `name:"json" help:"Print a line of JSON for each window of 10 s."`
	Hash      bool          `help:"Show 16 digits of SHA-256 instead of keys."`
	Duration  time.Duration `placeholder:"60s" help:"Stop after this time, with exit code 0; with 1 if --index or --prefix matched no key. Default: run until q or Ctrl-C."`
}

const (
	minTopSince  = live.Window
	maxTopSince  = 24 * time.Hour
	defaultSince = 15 * time.Minute // with --stack
)

// Validate returns an error if the flags are invalid.
func (c *TopCmd) Validate() error {
	switch {
	case c.Since != 0 && (c.Since < minTopSince || c.Since > maxTopSince):
		return fmt.Errorf("--since %v: want 10s to 24h", c.Since)
	case c.Duration < 0:
		return fmt.Errorf("--duration %v: it must not be negative", c.Duration)
	}
	return cmp.Or(c.heatFrom.Validate(), c.validatePrograms())
}

// validatePrograms returns an error if the flags of the table's programs are invalid.
func (c *TopCmd) validatePrograms() error {
	switch {
	case c.Format == "" && (c.Map != "" || c.Namespace != "" || c.Bucket != ""):
		return errors.New("--map, --namespace and --bucket need --format")
	case c.Format != "" && c.Table == "":
		return errors.New("--format needs --table: a deployment knows its own format")
	case c.Namespace != "" && c.Map == "":
		return errors.New("--namespace needs --map")
	case c.Format != "":
		return shard.Format(c.Format).Valid()
	}
	return nil
}

// Run shows hot keys until the duration is over or it is interrupted. The end of the duration is an
// error only if the index or prefix matched no key; an interruption always is.
func (c *TopCmd) Run(ctx context.Context, std streams) error {
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	if c.Stack && c.Since == 0 {
		c.Since = defaultSince
	}
	now := time.Now()
	var since time.Time
	if c.Since > 0 {
		since = now.Add(-c.Since)
	}
	account, err := c.config(ctx)
	if err != nil {
		return err
	}
	w, err := c.open(ctx, std, account, since)
	if err != nil {
		return err
	}
	if c.Index != "" && c.Table != "" && !slices.Contains(w.Indexes, c.Index) {
		return sentence("Table %q has no index %q. Check --index: %s.", c.Table, c.Index, cmp.Or(strings.Join(w.Indexes, ", "), "it has none"))
	}
	options := heatview.Options{Since: since, Span: c.Since, Table: c.Table, Index: c.Index, Prefix: c.Prefix, JSON: c.JSON, Hash: c.Hash}
	if c.Format != "" {
		options.Programs = &heatview.Programs{Keys: ownkeys.Keys{Format: shard.Format(c.Format), Bucket: shard.Bucket(c.Bucket)}, Namespace: c.Namespace}
	}
	if c.Map != "" {
		shards := shardmap.New(c.dynamoDB(account), c.Map, shardmap.Options{})
		if err := shards.Load(ctx, now); err != nil {
			return sentence("The shard map can't be read. Check --map and the permission dynamodb:Query on table %s: %v", c.Map, err)
		}
		w.Shards = shards
	}
	if file, ok := std.out.(*os.File); ok && !c.JSON && terminal.Is(file) && terminal.Is(os.Stdin) {
		err = heatview.Show(ctx, file, w, options)
	} else {
		err = heatview.Print(ctx, std.out, w, options)
	}
	if errors.Is(err, heatview.ErrInterrupted) {
		return interruption{os.Interrupt}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) { // --duration
		return nil
	}
	return err
}
