package display

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Commands builds command lines for a user to copy. The zero value, for Lambda functions, adds no flags.
type Commands struct {
	Program string // "" is hotshard

	// Complete returns a command's arguments with the flags that name this run's tables. Nil adds no flags.
	Complete func(command string, args []string) []string
	// AWS has the flags that AWSLine adds, such as --region.
	AWS []string
}

// Line returns a command line of hotshard with the flags of Complete, quoted for a shell: Line("shards set", "--shards", "4").
func (c Commands) Line(command string, args ...string) string {
	if c.Complete != nil {
		args = c.Complete(command, args)
	}
	return cmp.Or(c.Program, "hotshard") + " " + command + shellWords(args)
}

// With returns a copy of c that adds a flag and its value to the lines of one command, before the flags of Complete.
func (c Commands) With(command, flag, value string) Commands {
	complete := c.Complete
	c.Complete = func(lineCommand string, args []string) []string {
		if lineCommand == command {
			args = append(slices.Clone(args), flag, value)
		}
		if complete == nil {
			return args
		}
		return complete(lineCommand, args)
	}
	return c
}

// AWSLine returns a command line of the AWS CLI with the flags AWS. The caller quotes the arguments for a shell.
func (c Commands) AWSLine(quotedArgs string) string { return "aws " + quotedArgs + shellWords(c.AWS) }

// textFlags take any text. If it begins with a hyphen, it needs = before it: the parser would take it for a flag.
var textFlags = []string{"--name", "--player", "--table", "--tables-prefix", "--prefix", "--format", "--index"}

// shellWords returns the words for a shell, with a space before each, or = if the word must not be taken for a flag.
func shellWords(words []string) string {
	var text strings.Builder
	for i, w := range words {
		separator := " "
		if strings.HasPrefix(w, "-") && i > 0 && slices.Contains(textFlags, words[i-1]) {
			separator = "="
		}
		text.WriteString(separator + ShellWord(w))
	}
	return text.String()
}

// plainWord matches a word that needs no quotes in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// ShellWord quotes a word for a POSIX shell if it must be quoted.
func ShellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
