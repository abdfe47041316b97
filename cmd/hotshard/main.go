// Command hotshard runs hotshard on one machine and drives it.
//
//	hotshard local
//	hotshard load --access-log events/access.log.gz --verify
//
// It exits with 0 when it did what was asked, with 1 when it could not or when
// what it found is bad, and with 2 when it did not understand the command line.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitOK    = 0
	exitBad   = 1
	exitUsage = 2
)

// cli is the command line. Each command has a Run method, which may take a
// context.Context (done on SIGINT and SIGTERM) and streams.
type cli struct {
	Local   LocalCmd   `cmd:"" help:"Run the whole system on this machine."`
	Load    LoadCmd    `cmd:"" help:"Drive the API with an access log or generated traffic, and check the outcome."`
	Shards  ShardsCmd  `cmd:"" help:"Read and set shard counts."`
	Audit   AuditCmd   `cmd:"" help:"Compare summaries with what they sum up, and repair them with --repair."`
	Rebuild RebuildCmd `cmd:"" help:"Compute summaries anew, after a gap in the stream or a restore."`
	Replay  ReplayCmd  `cmd:"" help:"Compute the summaries anew that lack records, and clear the failure destination."`
	Delete  DeleteCmd  `cmd:"" help:"Delete every trace of a base key, or of a player of a board."`
	Plan    PlanCmd    `cmd:"" help:"Write shards, partitions, read cost and monthly cost for a peak."`
}

// streams are where commands write: results to out, all else to err.
type streams struct {
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	helped := false
	parser, err := kong.New(&cli{},
		kong.Name("hotshard"),
		kong.Description("Keeps DynamoDB tables ahead of their hot keys. Exit codes: 0 done, 1 failed or found differences, 2 wrong usage."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
	)
	if err != nil {
		fmt.Fprintln(std.err, "hotshard:", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(std.err, "hotshard: %v (see hotshard --help)\n", err)
		return exitUsage
	}
	if err := command.Run(); err != nil {
		fmt.Fprintln(std.err, "hotshard:", err)
		return exitBad
	}
	return exitOK
}
