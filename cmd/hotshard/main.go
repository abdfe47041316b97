// Command hotshard runs hotshard on one machine and drives it.
//
//	hotshard local
//	hotshard load --access-log events/access.log.gz --verify
//
// It exits with 0 on success, with 1 if it failed or its findings are bad, with 2 for a wrong command line, and with
// 128 plus the signal's number (130 for Ctrl-C) if a signal interrupted it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitOK     = 0
	exitBad    = 1
	exitUsage  = 2
	exitSignal = 128 // plus the signal's number
)

// cli is the command line. Each command has a Run method. Its parameters may be a context.Context (done on SIGINT and
// SIGTERM), streams, a commandLine and display.Commands.
type cli struct {
	Local    LocalCmd    `cmd:"" help:"Run the whole system on this machine."`
	Demo     DemoCmd     `cmd:"" help:"Make one counter hot on this machine and show how it cools, in the console, within two minutes."`
	Load     LoadCmd     `cmd:"" help:"Send an access log or generated traffic to the API, and verify the outcome."`
	Shards   ShardsCmd   `cmd:"" help:"Read and set the number of write shards."`
	Check    CheckCmd    `cmd:"" help:"Compare summaries with the items that they sum up, failed records' first; repair them with --repair."`
	Delete   DeleteCmd   `cmd:"" help:"Delete every trace of a key, or of one player of a board."`
	Plan     PlanCmd     `cmd:"" help:"Estimate write shards, partitions, read cost and monthly cost for a peak."`
	Top      TopCmd      `cmd:"" help:"Show the hot keys of any table, or of a deployment, live."`
	Adopt    AdoptCmd    `cmd:"" help:"Examine a table of yours before the library shards it under plain names. It only reads."`
	Console  ConsoleCmd  `cmd:"" help:"Serve the heat map of any table, or of a deployment, on this machine; or write a table's last day to one file."`
	Explain  ExplainCmd  `cmd:"" help:"Explain why requests of a table were throttled, on which keys, and what cures it. It only reads."`
	Throttle ThrottleCmd `cmd:"" help:"Proxy a DynamoDB-compatible engine, and throttle as AWS does."`
	Version  VersionCmd  `cmd:"" help:"Print the version, the commit and Go's version."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version, the commit and Go's version."`
}

// Validate returns an error if required flags are missing, before a command's own Validate checks values.
func (*cli) Validate(run *kong.Context) error {
	var missing []string
	for _, f := range run.Flags() {
		if f.Required && !f.Set {
			missing = append(missing, f.Summary())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing flags: %s", strings.Join(missing, ", "))
	}
	return nil
}

// streams are a command's outputs: results go to out, everything else to err.
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

// interruption is the cause of a context that ended by a signal.
type interruption struct{ os.Signal }

func (i interruption) Error() string {
	if i.Signal == os.Interrupt {
		return "interrupted"
	}
	return i.String()
}

// Is reports whether target is context.Canceled, since packages may return a context's cause in place of its error.
func (i interruption) Is(target error) bool { return target == context.Canceled }

func (i interruption) exitCode() int {
	if number, ok := i.Signal.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return exitBad
}

// run runs the command of these arguments, which lack the program's name, and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	exited := false // by --help or --version
	parser, err := newParser(&cli{},
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { exited = true }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std, commandLine(append([]string{programName()}, args...))),
	)
	if err != nil {
		fmt.Fprintln(std.err, "hotshard:", err)
		return exitUsage
	}
	command, err := parser.Parse(withHelp(args))
	if exited {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(std.err, "hotshard:", visibleLines(wrongUsage(err)))
		return exitUsage
	}
	return printOutcome(ctx, command.Run(commandsToPrint(command, args)), std)
}

// newParser returns the parser that fills in commands.
func newParser(commands *cli, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(commands, append(options,
		kong.Name("hotshard"),
		kong.Description("Keeps DynamoDB tables ahead of their hot keys. Exit codes: 0 done, 1 failed or found differences, 2 wrong usage, 130 interrupted."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.TypeMapper(reflect.TypeFor[time.Time](), kong.MapperFunc(timeFlag)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(durationFlag)),
		kong.Vars{"version": thisVersion().String()},
		kindVars(),
	)...)
}

// withHelp returns `COMMAND --help` for `help COMMAND`, and other command lines unchanged.
func withHelp(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}

// printOutcome prints a command's error and returns the exit code. A command that was interrupted and returned no error,
// such as hotshard local, succeeded.
func printOutcome(ctx context.Context, err error, std streams) int {
	if err == nil {
		return exitOK
	}
	interruption, interrupted := errors.AsType[interruption](context.Cause(ctx))
	if interrupted && errors.Is(err, context.Canceled) {
		err = interruption
	}
	fmt.Fprintln(std.err, "hotshard:", visibleLines(err.Error()))
	if interrupted {
		return interruption.exitCode()
	}
	return exitBad
}
