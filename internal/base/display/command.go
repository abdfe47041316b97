package display

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Commands builds command lines for a user to copy. The zero value is for a program that has no flags, such as a Lambda
// function.
type Commands struct {
	Program string // "" is hotshard

	// Complete returns a command's arguments with the flags of this run that say where its tables are; nil adds none.
	Complete func(command string, args []string) []string
	// AWS are the flags of this run for the AWS CLI.
	AWS []string
}

// Line returns a command line of hotshard, quoted for a shell: Line("shards set", "--type", "counter").
func (c Commands) Line(command string, args ...string) string {
	if c.Complete != nil {
		args = c.Complete(command, args)
	}
	return cmp.Or(c.Program, "hotshard") + " " + command + shellWords(args)
}

// With returns Commands that give a command this flag.
func (c Commands) With(command, flag, value string) Commands {
	complete := c.Complete
	c.Complete = func(of string, args []string) []string {
		if of == command {
			args = append(slices.Clone(args), flag, value)
		}
		if complete != nil {
			args = complete(of, args)
		}
		return args
	}
	return c
}

// OfAWS returns a command line of the AWS CLI, of which the arguments are quoted already.
func (c Commands) OfAWS(quoted string) string { return "aws " + quoted + shellWords(c.AWS) }

// shellWords returns words for a shell, each after a space.
func shellWords(words []string) string {
	var text strings.Builder
	for _, w := range words {
		text.WriteString(" " + ShellWord(w))
	}
	return text.String()
}

// plainWord needs no quotes in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// ShellWord quotes a word for a POSIX shell if it must be quoted.
func ShellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
