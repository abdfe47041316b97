package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/test/require"
)

// commandsAt are the command lines that a file prints, or that a document shows.
type commandsAt map[string][]string // by position

// TestPrintedCommandsParse collects all command lines of hotshard in the sources, in the console's page and in the
// documents, and parses each with the parser that would get it. Lines with flags are built by display.Commands, whose
// other arguments are replaced by samples here.
func TestPrintedCommandsParse(t *testing.T) {
	found := commandsAt{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{"node_modules", ".git", ".cache", "dist", "bin", "cdk.out", "performance", "decisions"}, d.Name()) {
			if d != nil && d.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		switch {
		case strings.HasSuffix(path, "_test.go"):
		case strings.HasSuffix(path, ".go"):
			return found.addGo(path)
		case strings.HasSuffix(path, ".ts"), strings.HasSuffix(path, ".html"):
			return found.addPage(path)
		case strings.HasSuffix(path, ".md"):
			return found.addDocument(path)
		}
		return nil
	})
	require.NoError(t, err)
	sources := map[string]int{}
	for at, lines := range found {
		for _, line := range lines {
			if err := parseCommand(line); err != nil {
				t.Errorf("%s: %s: %v", at, line, err)
			}
			sources[filepath.Ext(strings.SplitN(at, ":", 2)[0])]++
		}
	}
	if sources[".go"] < 20 || sources[".ts"] < 2 || sources[".md"] < 20 {
		t.Errorf("commands by source: %v, want more", sources)
	}
}

// parseCommand parses a command line without the program. A line without flags only names a command, whose flags a reader
// knows: its flags may be missing.
func parseCommand(line string) error {
	if strings.HasPrefix(line, "shards set") && !strings.Contains(line, "--type") { // its beginning, which the page completes
		line += " --type counter --name page/home --shards 4"
	}
	_, err := parsed(strings.Fields(line)...)
	if err != nil && !strings.Contains(line, "--") {
		_, err = parsed(append(strings.Fields(line), "--help")...)
	}
	return err
}

// parsed parses a command line without the program.
func parsed(args ...string) (*kong.Context, error) {
	for i, arg := range args {
		args[i] = strings.Trim(arg, `'"`)
	}
	helped := false
	parser, err := newParser(&cli{}, kong.Exit(func(int) { helped = true }), kong.Writers(new(strings.Builder), new(strings.Builder)))
	if err != nil {
		return nil, err
	}
	run, err := parser.Parse(withHelp(args))
	if helped {
		err = nil
	}
	return run, err
}

// inText matches a command of hotshard in a text: the words after the program, up to the first that is no flag, value or
// command.
var inText = regexp.MustCompile("(?:^|[`\"' (:/]|bin/)hotshard((?: [a-z][a-z]*\\b)+(?: --?[a-z][a-z-]*(?:[= ](?:'[^']*'|\"[^\"]*\"|[^-\\s'\"`;,)&|][^\\s'\"`;,)&|]*))?)*)")

// inTexts returns the commands in a text: those whose first word is a command of hotshard.
func inTexts(text string) (lines []string) {
	for _, found := range inText.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(found[1])
		if !slices.Contains(commandNames(), words[0]) {
			continue
		}
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }); i < 0 { // "hotshard check, which"
			words = words[:wordsOfCommand(words)]
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// commandNames returns the names of the commands.
func commandNames() (names []string) {
	for _, n := range model().Children {
		names = append(names, n.Name)
	}
	return append(names, "help")
}

// wordsOfCommand returns how many of the words name a command.
func wordsOfCommand(words []string) int {
	node, n := model(), 0
	for _, w := range words {
		i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == w })
		if i < 0 {
			break
		}
		node, n = node.Children[i], n+1
	}
	return max(n, 1)
}

func model() *kong.Node {
	parser, err := newParser(&cli{})
	if err != nil {
		panic(err)
	}
	return parser.Model.Node
}

// addGo adds the commands in the strings of a file, and the calls of display.Commands.Line in it.
func (c commandsAt) addGo(path string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				c.add(files.Position(n.Pos()).String(), inTexts(text)...)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Line" && len(n.Args) > 0 && ofCommands(f.X) {
				c.add(files.Position(n.Pos()).String(), calledLine(n))
			}
		}
		return true
	})
	return nil
}

func (c commandsAt) add(at string, lines ...string) { c[at] = append(c[at], lines...) }

// ofCommands reports whether an expression is one of the variables and fields that hold display.Commands.
func ofCommands(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == "commands"
	case *ast.SelectorExpr:
		return x.Sel.Name == "Commands"
	case *ast.CompositeLit:
		return true
	}
	return false
}

// samples are values for arguments that are no constants, by the flag before them.
var samples = map[string]string{
	"--table": "orders", "--type": "entity", "--name": "page/home", "--shards": "4", "--peak-wcu": "1000", "--target": "http://127.0.0.1:8080",
	"--from": "2026-01-05T12:00:00Z", "--to": "2026-01-05T13:00:00Z", "--log": "FILE",
}

// calledLine returns the command line of a call of Line. Arguments that are passed as a list are the caller's, who has a test
// of its own.
func calledLine(call *ast.CallExpr) string {
	var words []string
	for _, arg := range call.Args {
		text, constant := "", false
		if literal, ok := arg.(*ast.BasicLit); ok {
			text, _ = strconv.Unquote(literal.Value)
			constant = true
		}
		if !constant && call.Ellipsis == token.NoPos && len(words) > 0 {
			text = samples[words[len(words)-1]]
		}
		words = append(words, text)
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// inPage matches a command that the page composes from the program of the server.
var inPage = regexp.MustCompile("`\\$\\{(?:program\\(about\\)|this\\.program)\\}( [^`]*)`")

// addPage adds the commands that a file of the console's page shows.
func (c commandsAt) addPage(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if trimmed := strings.TrimSpace(line); !strings.HasPrefix(trimmed, "//") && !strings.HasPrefix(trimmed, "*") {
			c.add(path, inTexts(line)...)
		}
	}
	for _, found := range inPage.FindAllStringSubmatch(string(text), -1) {
		line := strings.NewReplacer("${quoted(location.origin)}", "http://127.0.0.1:8080", "${Number(location.port || 80) + 10}", "8090",
			"${this.base.type}", "counter", "${quoted(this.base.name)}", "page/home", "${n}", "4").Replace(found[1])
		if strings.HasPrefix(line, " --type") { // the form composes flags only
			line = "shards set" + line
		}
		c.add(path, strings.TrimSpace(line))
	}
	return nil
}

// variables are those of the shell that documents use.
var variables = strings.NewReplacer(`"$api"`, "http://127.0.0.1:8080", `$api`, "http://127.0.0.1:8080", "127.0.0.1:PORT", "127.0.0.1:8000", "\\\n", " ", " ...", "")

// addDocument adds the commands in a document's blocks of code.
func (c commandsAt) addDocument(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	block := false
	for n, line := range strings.Split(variables.Replace(string(text)), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			block = !block
		} else if block {
			c.add(path+":"+strconv.Itoa(n+1), inTexts(line)...)
		}
	}
	return nil
}

// TestPrintedCommandsHaveFlagsOfTheRun checks that a command line has the flags, of the run that prints it, that say where
// the tables are: from the command line or the environment, by name or ARN, and no others.
func TestPrintedCommandsHaveFlagsOfTheRun(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
	for run, c := range map[string]struct {
		command string
		args    []string
		want    string
	}{
		"top --table orders --json":                                        {"adopt", []string{"--table", "orders"}, "adopt --table orders"},
		"top --table orders --endpoint http://127.0.0.1:8000 --prefix a":   {"adopt", []string{"--table", "orders"}, "adopt --table orders --endpoint http://127.0.0.1:8000"},
		"console --table=orders --endpoint=http://127.0.0.1:8000":          {"adopt", []string{"--table", "orders"}, "adopt --table orders --endpoint http://127.0.0.1:8000"},
		"console --table orders --region eu-west-1 --partition-wcu 20":     {"adopt", []string{"--table", "orders"}, "adopt --table orders --region eu-west-1"},
		"explain --table " + arn + " --since 1h":                           {"adopt", []string{"--table", "orders"}, "adopt --table " + arn},
		"explain --table " + arn + " --partition-wcu 20":                   {"explain", []string{"--table", arn, "--log", "FILE"}, "explain --table " + arn + " --log FILE --partition-wcu 20"},
		"explain --stack --tables-prefix t- --region eu-west-2":            {"explain", []string{"--stack", "--log", "FILE"}, "explain --stack --log FILE --region eu-west-2 --tables-prefix t-"},
		"explain --table orders --since 3h --index by_city":                {"explain", []string{"--table", "orders", "--log", "FILE"}, "explain --table orders --log FILE --since 3h --index by_city"},
		"explain --stack --index by_rank":                                  {"shards set", []string{"--type", "counter", "--name", "a b", "--shards", "4"}, "shards set --type counter --name 'a b' --shards 4"},
		"delete --type counter --name a --prefix t- --yes --read-units 50": {"check", []string{"--failed", "--repair"}, "check --failed --repair --prefix t- --read-units 50"},
		"check --rollups false --event-retention 7d --endpoint http://h:1": {"check", []string{"--all"}, "check --all --endpoint http://h:1 --rollups false --event-retention 7d"},
		"shards get --type counter --name a --target http://h:1":           {"shards set", []string{"--type", "counter", "--name", "a", "--shards", "2"}, "shards set --type counter --name a --shards 2 --target http://h:1"},
		"plan --peak-wcu 5": {"adopt", []string{"--table", "orders"}, "adopt --table orders"},
	} {
		line := strings.Fields(run)
		context, err := parsed(slices.Clone(line)...)
		require.NoError(t, err)
		commands := commandsToPrint(context, line)
		got := strings.TrimPrefix(commands.Line(c.command, c.args...), commands.Program+" ")
		if got != c.want {
			t.Errorf("%s prints\n%s, want\n%s", run, got, c.want)
		}
		if _, err := parsed(append(strings.Fields(c.command), commands.Complete(c.command, c.args)...)...); err != nil {
			t.Errorf("%s prints %s: %v", run, got, err)
		}
	}
	got := display.Commands{}.Line("delete", "--type", "board", "--name", "-1", "--player", "--yes", "--prefix", "-", "--yes")
	if _, err := parsed(strings.Fields(got)[1:]...); err != nil || got != "hotshard delete --type board --name=-1 --player=--yes --prefix=- --yes" {
		t.Errorf("names that begin with a hyphen: %s, %v", got, err)
	}
	t.Setenv("HOTSHARD_ENDPOINT", "http://127.0.0.1:8000")
	context, err := parsed("explain", "--table", "orders", "--region", "eu-west-1")
	require.NoError(t, err)
	commands := commandsToPrint(context, commandLine{"explain", "--table", "orders", "--region", "eu-west-1"})
	if got := commands.AWSLine("dynamodb update-table --table-name orders"); got != "aws dynamodb update-table --table-name orders --region eu-west-1 --endpoint-url http://127.0.0.1:8000" {
		t.Errorf("of the AWS CLI: %s", got)
	}
	if got := commands.Line("adopt", "--table", "orders"); !strings.HasSuffix(got, " adopt --table orders --endpoint http://127.0.0.1:8000 --region eu-west-1") {
		t.Errorf("with an endpoint of the environment: %s", got)
	}
}

// TestCommandLineCanBeRunAgain checks that a printed command line is quoted, and has the endpoint of the environment.
func TestCommandLineCanBeRunAgain(t *testing.T) {
	for want, line := range map[string]commandLine{
		"bin/hotshard local --addr 127.0.0.1:9000 --partitions 64":      {"bin/hotshard", "local", "--addr", "127.0.0.1:9000", "--partitions", "64"},
		"hotshard console --table 'a b' --endpoint http://x:1":          {"hotshard", "console", "--table", "a b", "--endpoint", "http://x:1"},
		`hotshard top --prefix 'it'\''s' --endpoint http://localhost:8`: {"hotshard", "top", "--prefix", "it's"},
		"hotshard local --endpoint=http://y:2":                          {"hotshard", "local", "--endpoint=http://y:2"},
	} {
		endpoint := "http://localhost:8"
		if strings.Contains(want, "partitions") {
			endpoint = ""
		}
		if got := line.withFlag("endpoint", endpoint); got != want {
			t.Errorf("command %s\nwant    %s", got, want)
		}
	}
}
