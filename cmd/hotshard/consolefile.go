package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/internal/tool/live"
)

// fileFlags has the flags of hotshard console that write a file.
type fileFlags struct {
	Out    string        `placeholder:"FILE.html" type:"path" help:"With --table: read the past from its stream, write the page as one file with its data inside, and serve nothing. An existing file is replaced when the new one is complete."`
	Since  time.Duration `placeholder:"24h" help:"With --out: how far back to read, 1m to 24h. Default: 24h."`
	Within time.Duration `placeholder:"10m" help:"With --out: how long reading may take, 10s to 6h. If that is not enough, windows over all of the time are read; the page says how many. Default: 10m."`
}

// Bounds and defaults of --since and --within.
const (
	minSince      = time.Minute
	maxSince      = 24 * time.Hour // how long a stream keeps its records
	minWithin     = 10 * time.Second
	maxWithin     = 6 * time.Hour
	defaultWithin = 10 * time.Minute // reads one window in every 25 minutes of a day with full stream shards
)

// validate returns an error if the flags are invalid, and sets defaults. readsStack is the flag --stack.
func (f *fileFlags) validate(readsStack bool) error {
	switch {
	case f.Out == "" && (f.Since != 0 || f.Within != 0):
		return errors.New("--since and --within need --out")
	case f.Out == "":
		return nil
	case readsStack:
		return errors.New("--out needs --table: a deployment keeps its counts, which the console shows for the last 7 days without --out")
	}
	f.Since, f.Within = cmp.Or(f.Since, maxSince), cmp.Or(f.Within, defaultWithin)
	switch {
	case f.Since < minSince || f.Since > maxSince:
		return fmt.Errorf("--since %v: want 1m to 24h, for which a stream keeps its records", display.Duration(f.Since))
	case f.Within < minWithin || f.Within > maxWithin:
		return fmt.Errorf("--within %v: want 10s to 6h", display.Duration(f.Within))
	}
	return nil
}

// replaceFile creates a file, or replaces it, with the content that newContent returns. If the folder can't be written,
// newContent is not called. After an error, the path is as before.
func replaceFile(path string, newContent func() ([]byte, error)) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--out %s exists and is not a regular file: use another path", path)
	}
	file, err := os.OpenFile(fmt.Sprintf("%s.%d", path, os.Getpid()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("--out %s: creating a temporary file beside it: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	content, err := newContent()
	if err == nil {
		_, err = file.Write(content)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// writeFile reads a table's stream and writes the page with its heat.
func (c *ConsoleCmd) writeFile(ctx context.Context, std streams, commands display.Commands) error {
	var past *live.Past
	err := replaceFile(c.Out, func() (page []byte, err error) {
		past, err = c.readPast(ctx, std)
		if err != nil {
			return nil, err
		}
		return c.heatPage(ctx, std, past, commands)
	})
	if err != nil {
		return err
	}
	if past.Records() == 0 {
		fmt.Fprintf(std.out, "No writes to table %s were read. ", visible(c.Table))
	}
	fmt.Fprintf(std.out, "%s\n%s\n", past.Coverage(), visible(c.Out))
	return nil
}

// readPast reads a table's stream back to --since. It shows its progress on a terminal.
func (c *ConsoleCmd) readPast(ctx context.Context, std streams) (*live.Past, error) {
	cfg, err := c.awsConfig(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.findStream(ctx, std, cfg)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(std.err, "Reading for at most %v.\n", display.Duration(c.Within))
	now := time.Now()
	progress, finish := windowsProgress(std)
	defer finish()
	past, err := live.ReadPast(ctx, live.PastOptions{
		Streams: dynamodbstreams.NewFromConfig(cfg), Found: found,
		From: now.Add(-c.Since), To: now, Within: c.Within, PartitionWCU: float64(c.PartitionWCU), Seed: rand.Uint64(),
		Notify: func(sentence string) { fmt.Fprintln(std.err, visible(sentence)) }, Progress: progress,
	})
	if err != nil {
		return nil, c.explainError(ctx, cfg, err)
	}
	return past, nil
}

// fileDeadline is the timeout of each call whose answer is in the file. A day with 128 keys in each window takes some 10 s.
const fileDeadline = 5 * time.Minute

// heatPage returns the console's page as one HTML file, with the heat that was read.
func (c *ConsoleCmd) heatPage(ctx context.Context, std streams, past *live.Past, commands display.Commands) ([]byte, error) {
	cfg, err := c.awsConfig(ctx)
	if err != nil {
		return nil, err
	}
	heat := query.NewHeat(past, query.HeatOptions{Table: c.tableName(), Deadline: fileDeadline, Now: func() time.Time { return past.To }, Commands: commands})
	about := console.About{
		Mode: "table", Table: c.tableName(), Where: c.where(cfg), Version: thisVersion().Version,
		File: &console.FileInfo{Made: time.Now().UTC().Truncate(time.Second), Coverage: past.Coverage()},
	}
	log := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return console.File(ctx, httpapi.New(log, query.HeatRoutes(heat)), about, past.From, past.To)
}
