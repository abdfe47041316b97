package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
)

// DeleteCmd is hotshard delete, which deletes every trace of a key, or of a player of a board.
type DeleteCmd struct {
	tableFlags
	baseKey
	scanFlags
	WriteUnits int `default:"250" help:"Upper bound on the deletes' WCU/s, indexes included, up to 1000000. A partition has 1,000."`

	Player   string        `placeholder:"NAME" help:"For a board: delete only this player's entries."`
	Yes      bool          `help:"Confirm the delete."`
	Settle   time.Duration `default:"30s" help:"How long to wait for requests that began before the delete: the functions' longest deadline plus 5s, up to 1h."`
	Wait     time.Duration `default:"90s" help:"How long to wait for folds in flight, up to 1h: longer than the setting rollupWindow."`
	IndexLag time.Duration `default:"30s" help:"Upper bound on the lag of the boards' index."`
	JSON     bool          `name:"json" help:"Print the result as JSON."`
}

// Validate returns an error if the flags are invalid.
func (c *DeleteCmd) Validate() error {
	switch {
	case c.Name == "":
		return errors.New("--name must not be empty")
	case c.Player != "" && schema.TraitsOf(schema.Kind(c.Type)).Bucket != schema.PeriodBucket:
		return errors.New("--player needs --type board")
	case c.WriteUnits < 1 || c.WriteUnits > 1_000_000:
		return fmt.Errorf("--write-units %d: want 1 to 1000000", c.WriteUnits)
	case c.Settle < time.Second || c.Settle > time.Hour:
		return fmt.Errorf("--settle %v: want 1s to 1h", c.Settle)
	case c.Wait < time.Second || c.Wait > time.Hour:
		return fmt.Errorf("--wait %v: want 1s to 1h", c.Wait)
	case c.IndexLag < time.Second || c.IndexLag > time.Hour:
		return fmt.Errorf("--index-lag %v: want 1s to 1h", c.IndexLag)
	}
	return errors.Join(c.scanFlags.Validate(), c.tableFlags.Validate())
}

// Run deletes the key or player, and prints what was deleted. It is an error if --yes is missing, or something is left.
func (c *DeleteCmd) Run(ctx context.Context, std streams, commands display.Commands) error {
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	if !c.Yes {
		return fmt.Errorf("to delete %s and everything that belongs to it, add --yes", c.target())
	}
	progress, finish := progressBar(std.err, -1, "items")
	eraser := rebuild.NewEraser(rebuild.EraserOptions{
		Options: rebuild.Options{Names: schema.NamesFor(c.Prefix), Wait: c.Wait, IndexLag: c.IndexLag, ReadUnits: c.ReadUnits},
		Settle:  c.Settle, WriteUnits: c.WriteUnits, Progress: progress, Commands: commands,
	}, client)
	report, err := c.erase(ctx, eraser)
	finish()
	err = c.explainError(err)
	if err != nil && len(report.Deleted) == 0 {
		return err
	}
	if err := errors.Join(err, c.printReport(std.out, report)); err != nil {
		return err
	}
	if len(report.Left) > 0 {
		return fmt.Errorf("the delete is not complete: run the command that a \"left\" line names or, once the aggregator has caught up, %s", commands.Line("delete", c.targetArgs()...))
	}
	return nil
}

// erase deletes the key or the player. It returns a report even after an error.
func (c *DeleteCmd) erase(ctx context.Context, eraser *rebuild.Eraser) (*rebuild.Erased, error) {
	if c.Player != "" {
		return eraser.Player(ctx, c.Name, c.Player)
	}
	return eraser.Key(ctx, schema.BaseKey{Type: schema.Kind(c.Type), Name: c.Name})
}

// targetArgs returns the flags that name what is deleted.
func (c *DeleteCmd) targetArgs() []string {
	args := []string{"--type", c.Type, "--name", c.Name}
	if c.Player != "" {
		args = append(args, "--player", c.Player)
	}
	return args
}

// target returns the name of what is deleted, for messages.
func (c *DeleteCmd) target() string {
	if c.Player != "" {
		return fmt.Sprintf("player %q of board %q", c.Player, c.Name)
	}
	return fmt.Sprintf("%s %q", c.Type, c.Name)
}

func (c *DeleteCmd) printReport(out io.Writer, report *rebuild.Erased) error {
	if c.JSON {
		return printJSON(out, report)
	}
	t := newTable("deleted", nameCell("of "+c.target()))
	t.Style().Format.Header = pretty.FormatDefault // names differ by case
	for _, what := range slices.Sorted(maps.Keys(report.Deleted)) {
		t.Row(report.Deleted[what], what)
	}
	outcome := t.Render()
	if len(report.Deleted) == 0 {
		outcome = fmt.Sprintf("nothing of %s is stored", c.target())
	}
	for _, kept := range report.Kept {
		outcome += "\nkept: " + visible(kept)
	}
	for _, left := range report.Left {
		outcome += "\nleft: " + visible(left)
	}
	_, err := fmt.Fprintln(out, outcome)
	return err
}
