// Command hotshard runs hotshard on one machine and drives it.
//
//	hotshard local
//	hotshard load --access-log events/access.log.gz --verify
//
// It exits with 0 when it did what was asked, with 1 when it could not or when
// what it found is bad, with 2 when it did not understand the command line, and
// with 128 and the signal's number (130 for Ctrl-C) when a signal cut it short.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/hotshard/hotshard/internal/terminal"
)

// Exit codes.
const (
	exitOK     = 0
	exitBad    = 1
	exitUsage  = 2
	exitSignal = 128 // and the signal's number
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
	Prove   ProveCmd   `cmd:"" help:"Experiment on a system of its own, on an AWS account or here, and remove it."`
	Top     TopCmd     `cmd:"" help:"Hot keys of any table, or of a deployment, as they are written."`
	Console ConsoleCmd `cmd:"" help:"A page with the heat of any table, or of a deployment, on this machine."`
	Report  ReportCmd  `cmd:"" help:"Write one HTML file about the heat of the last hours: storms, what to do, the map."`
	Version VersionCmd `cmd:"" help:"Print the version, the commit and Go's version."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version, the commit and Go's version."`
}

// streams are where commands write: results to out, all else to err.
type streams struct {
	out, err io.Writer
}

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals) // another one ends the process at once
		cancel(interruption{s})
	}()
	os.Exit(run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr}))
}

// interruption is why a signal ended a context.
type interruption struct{ os.Signal }

func (i interruption) Error() string {
	if i.Signal == os.Interrupt {
		return "interrupted"
	}
	return i.String()
}

// Is makes it a cancellation: some packages return a context's cause, others its error.
func (i interruption) Is(target error) bool { return target == context.Canceled }

func (i interruption) exitCode() int {
	if number, ok := i.Signal.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return exitBad
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	helped := false
	parser, err := kong.New(&cli{},
		kong.Name("hotshard"),
		kong.Description("Keeps DynamoDB tables ahead of their hot keys. Exit codes: 0 done, 1 failed or found differences, 2 wrong usage, 130 interrupted."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.TypeMapper(reflect.TypeFor[time.Time](), kong.MapperFunc(timeFlag)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(durationFlag)),
		kong.Vars{"version": thisVersion().String()},
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
		fmt.Fprintln(std.err, "hotshard:", terminal.Lines(wrongUsage(err)))
		return exitUsage
	}
	return outcome(ctx, command.Run(), std)
}

// outcome says how a command ended. One that was told to end and then had nothing left
// to do, as hotshard local, did what was asked.
func outcome(ctx context.Context, err error, std streams) int {
	if err == nil {
		return exitOK
	}
	why, interrupted := errors.AsType[interruption](context.Cause(ctx))
	if interrupted && errors.Is(err, context.Canceled) {
		err = why
	}
	fmt.Fprintln(std.err, "hotshard:", terminal.Lines(err.Error()))
	if interrupted {
		return why.exitCode()
	}
	return exitBad
}
