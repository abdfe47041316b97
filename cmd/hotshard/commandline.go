package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// commandLine is the program's name and arguments, for a user to run again.
type commandLine []string

// programName returns the name by which this program was called. A binary of go run is deleted when it ends, so
// programName returns the go run command instead.
func programName() string {
	if strings.Contains(os.Args[0], "/go-build") {
		return "go run ./cmd/hotshard"
	}
	return display.ShellWord(os.Args[0])
}

// withFlag returns the command line, quoted for a shell. It appends a missing flag with its value, unless the value is "".
func (l commandLine) withFlag(flag, value string) string {
	words := []string{l[0]}
	for _, arg := range l[1:] {
		words = append(words, display.ShellWord(arg))
	}
	given := slices.ContainsFunc(l, func(arg string) bool { return arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=") })
	if value != "" && !given {
		words = append(words, "--"+flag, display.ShellWord(value))
	}
	return strings.Join(words, " ")
}

// commandsToPrint returns the builder of the command lines that this run prints for the user. It copies flags of this run
// to them, such as the endpoint of the tables. A copied flag has the struct tag `copied`, with its meaning. In the printed
// command, the flag with the same meaning gets its value.
func commandsToPrint(run *kong.Context, args commandLine) display.Commands {
	given := map[string]string{}
	for _, f := range run.Flags() {
		if meaning := meaningOf(f); meaning != "" {
			given[meaning] = args.value(f)
		}
	}
	complete := func(command string, args []string) []string {
		return completeArgs(findCommand(run.Model.Node, command), args, given)
	}
	return display.Commands{Program: programName(), Complete: complete, AWS: flagsOfAWS(given)}
}

// meaningOf returns the value of a flag's tag copied, or "" if the flag is not copied.
func meaningOf(f *kong.Flag) string {
	if f.Tag == nil {
		return ""
	}
	return f.Tag.Get("copied")
}

// value returns a flag's text from the command line, if it is there, or from the environment; "" if it is in neither.
func (l commandLine) value(f *kong.Flag) (value string) {
	for _, name := range f.Envs {
		value = os.Getenv(name)
	}
	for i, arg := range l {
		if text, ok := strings.CutPrefix(arg, "--"+f.Name+"="); ok {
			value = text
		} else if arg == "--"+f.Name && i+1 < len(l) {
			value = l[i+1]
		}
	}
	return value
}

// findCommand returns the node of a command, such as shards set, below the program's node. It ignores unknown words.
func findCommand(node *kong.Node, command string) *kong.Node {
	for word := range strings.FieldsSeq(command) {
		if i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 {
			node = node.Children[i]
		}
	}
	return node
}

// completeArgs returns args and, after them, the given flags that the command has and args lacks, except --table. given
// has the flags' values by meaning. If its table is an ARN, the ARN replaces the table's name in args.
func completeArgs(command *kong.Node, args []string, given map[string]string) []string {
	args = slices.Clone(args)
	for _, f := range command.Flags {
		value, flag := given[meaningOf(f)], "--"+f.Name
		if value == "" {
			continue
		}
		i := slices.Index(args, flag)
		if f.Name == "table" {
			if name, _, _, _ := dynamo.TableName(value); i >= 0 && args[i+1] == name {
				args[i+1] = value
			}
		} else if i < 0 {
			args = append(args, flag, value)
		}
	}
	return args
}

// flagsOfAWS returns the given flags, by meaning, as flags of the AWS CLI.
func flagsOfAWS(given map[string]string) (flags []string) {
	_, region, _, _ := dynamo.TableName(given["table"])
	if region = cmp.Or(given["region"], region); region != "" {
		flags = append(flags, "--region", region)
	}
	if endpoint := given["endpoint"]; endpoint != "" {
		flags = append(flags, "--endpoint-url", endpoint)
	}
	return flags
}
