// Command mutate puts small faults into packages, one at a time, runs each package's quick tests
// with them, and lists the faults that no test notices. Quick tests are the fastest ones whose
// times add up to at most 10 s. One test program has all faults, which are in functions. An
// environment variable selects one.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

var (
	sample = flag.Int("n", 80, "about how many faults of a package, with those that don't compile")
	seed   = flag.Uint64("seed", 1, "which faults")
	at     = flag.String("at", "", "a pattern of file:line: only faults there")
	short  = flag.Bool("short", false, "only tests that need no engine")
)

type pkg struct {
	dir, path, name, program string // program is the path of the test program with all faults
	sources                  []*source
	faults                   []*fault
}

type source struct {
	name, text string
	file       *ast.File
}

// fault replaces a part of a source's text.
type fault struct {
	id, line, from, to  int
	source              *source
	operator, was, text string
	survives            bool
}

func main() {
	flag.Parse()
	dir, err := os.MkdirTemp("", "mutate")
	check(err, nil)
	defer os.RemoveAll(dir)
	for _, path := range flag.Args() {
		p := load(path, filepath.Join(dir, "test"))
		tests, quick := p.quickTests()
		var running errgroup.Group
		running.SetLimit(2)
		for _, f := range p.faults {
			running.Go(func() error { p.try(f, tests, 3*quick+20*time.Second); return nil })
		}
		check(running.Wait(), nil)
		tried, survived := map[string]int{}, map[string]int{}
		for _, f := range p.faults {
			tried[f.operator]++
			if f.survives {
				survived[f.operator]++
				fmt.Printf("  %s:%d: %s: %q -> %q\n", f.source.name, f.line, f.operator, f.was, f.text)
			}
		}
		fmt.Printf("%s tried %v, survived %v; seed %d; quick tests take %.1f s\n", p.path, tried, survived, *seed, quick.Seconds())
	}
}

func check(err error, said []byte) {
	if err != nil {
		log.Fatalf("%s%v", said, err)
	}
}

// load chooses faults of a package and builds its test program.
func load(path, program string) *pkg {
	said, err := exec.Command("go", "list", "-f", `{{.Dir}} {{.ImportPath}} {{.Name}} {{join .GoFiles " "}}`, path).CombinedOutput()
	check(err, said)
	list, fset := strings.Fields(string(said)), token.NewFileSet()
	p := &pkg{dir: list[0], path: list[1], name: list[2], program: program}
	for _, name := range list[3:] {
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		check(err, nil)
		file, _ := parser.ParseFile(fset, name, text, parser.SkipObjectResolution) // the build finds errors
		p.sources = append(p.sources, &source{name, string(text), file})
		p.collect(p.sources[len(p.sources)-1], fset)
	}
	where, random := regexp.MustCompile(*at), rand.New(rand.NewPCG(*seed, 0))
	p.faults = slices.DeleteFunc(p.faults, func(f *fault) bool { return !where.MatchString(fmt.Sprint(f.source.name, ":", f.line)) })
	p.faults = slices.DeleteFunc(slices.Clone(p.faults), func(*fault) bool { return random.IntN(len(p.faults)) >= *sample })
	p.buildAll()
	return p
}

func (s *source) offset(p token.Pos) int { return int(p - s.file.FileStart) }
func (s *source) at(n ast.Node) string   { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

// collect finds the faults of a source's functions.
func (p *pkg) collect(s *source, fset *token.FileSet) {
	for _, d := range s.file.Decls {
		fn, isFunction := d.(*ast.FuncDecl)
		if !isFunction || fn.Body == nil || fn.Name.Name == "init" {
			continue
		}
		add := func(operator string, from, to token.Pos, text string) {
			f := &fault{source: s, operator: operator, text: text, from: s.offset(from), to: s.offset(to), line: fset.Position(from).Line}
			f.was, f.id = s.text[f.from:f.to], len(p.faults)+1
			if f.was != f.text {
				p.faults = append(p.faults, f)
			}
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool { visit(s, n, add); return true })
	}
}

// visit calls add for each fault of a node.
func visit(s *source, n ast.Node, add func(operator string, from, to token.Pos, text string)) {
	exchange := func(pos token.Pos, was string) {
		if x, ok := exchanged[was]; ok {
			add(x.operator, pos, pos+token.Pos(len(was)), x.text)
		}
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		exchange(n.OpPos, n.Op.String())
		add("operand", n.Pos(), n.End(), s.at(n.X))
		add("operand", n.Pos(), n.End(), s.at(n.Y))
	case *ast.IfStmt:
		add("condition", n.Cond.Pos(), n.Cond.End(), "false && ("+s.at(n.Cond)+")")
		add("condition", n.Cond.Pos(), n.Cond.End(), "true || ("+s.at(n.Cond)+")")
	case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt, *ast.BranchStmt:
		add("statement", n.Pos(), n.End(), "")
	case *ast.CallExpr:
		for i := 1; i < len(n.Args) && !anyOrder.MatchString(s.at(n.Fun)); i++ {
			add("arguments", n.Args[i-1].Pos(), n.Args[i].End(), s.at(n.Args[i])+", "+s.at(n.Args[i-1]))
		}
	case *ast.Ident:
		if !declared.MatchString(s.text[s.offset(n.End()):]) {
			exchange(n.Pos(), n.Name)
		}
	case *ast.BasicLit:
		if i, err := strconv.Atoi(n.Value); err == nil {
			add("constant", n.Pos(), n.End(), strconv.Itoa(max(i/2, 3-i)))
		}
	}
}

// anyOrder matches functions whose arguments' order changes nothing, or only the text of an error or a log line.
var anyOrder = regexp.MustCompile(`^(fmt\.Errorf|max|min)$|\.(Info|Warn|Error)(Context)?$`)

// declared matches what follows a name that is declared or assigned.
var declared = regexp.MustCompile(`^(, \w+)* (:?= |error)`)

var exchanged = map[string]struct{ operator, text string }{
	"<": {"boundary", "<="}, "<=": {"boundary", "<"}, ">": {"boundary", ">="}, ">=": {"boundary", ">"},
	"==": {"negation", "!="}, "!=": {"negation", "=="}, "&&": {"condition", "||"}, "||": {"condition", "&&"},
	"+": {"arithmetic", "-"}, "-": {"arithmetic", "+"}, "*": {"arithmetic", "/"}, "/": {"arithmetic", "*"}, "%": {"arithmetic", "*"},
	"min": {"constant", "max"}, "max": {"constant", "min"}, "true": {"constant", "false"}, "false": {"constant", "true"}, "err": {"error", "nil"},
}

// withFaults returns a source's text with all its faults. A function begins with a
// switch that runs a copy of its body with the selected fault.
func (p *pkg) withFaults(s *source) string {
	out, written := "", 0
	for _, d := range s.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		from, to := s.offset(fn.Body.Lbrace), s.offset(fn.Body.End())
		before, results, after := "", "", "; return"
		if fn.Type.Results != nil {
			before, results, after = "return ", s.at(fn.Type.Results), ""
		}
		out += s.text[written:from] + "{ switch selectedFault {"
		for _, f := range p.faults {
			if f.source == s && f.from >= from && f.to <= to {
				out += fmt.Sprintf("\ncase %d: %sfunc() %s /*line fault%d.go:1:1*/%s()%s", f.id, before, results, f.id, s.text[from:f.from]+f.text+s.text[f.to:to], after)
			}
		}
		out, written = out+"\n};", from+1
	}
	return out + s.text[written:]
}

// build builds the package's test program with other texts of some files.
func (p *pkg) build(texts map[string]string) ([]byte, error) {
	replace := []string{}
	for name, text := range texts {
		replace = append(replace, fmt.Sprintf("%q: %q", filepath.Join(p.dir, name), p.program+"."+name))
		check(os.WriteFile(p.program+"."+name, []byte(text), 0o600), nil)
	}
	overlay := fmt.Sprintf(`{"Replace": {%s}}`, strings.Join(replace, ", "))
	check(os.WriteFile(p.program+".json", []byte(overlay), 0o600), nil)
	return exec.Command("go", "test", "-c", "-vet=off", "-gcflags="+p.path+"=-e", "-overlay", p.program+".json", "-o", p.program, p.path).CombinedOutput()
}

// buildAll builds the test program with all faults that compile, and drops the others.
func (p *pkg) buildAll() {
	for failed := regexp.MustCompile(`fault\d+\.go:`); ; {
		texts := map[string]string{"selected.go": "package " + p.name + "\nimport (\"os\"; \"strconv\")\nvar selectedFault, _ = strconv.Atoi(os.Getenv(\"HOTSHARD_FAULT\"))"}
		for _, s := range p.sources {
			texts[s.name] = p.withFaults(s)
		}
		said, err := p.build(texts)
		bad := failed.FindAllString(string(said), -1)
		p.faults = slices.DeleteFunc(p.faults, func(f *fault) bool { return slices.Contains(bad, fmt.Sprintf("fault%d.go:", f.id)) })
		if bad == nil {
			check(err, said)
			return
		}
	}
}

// run runs tests with a fault, or with none if id is 0.
func (p *pkg) run(id int, limit time.Duration, tests string) ([]byte, error) {
	c := exec.Command(p.program, tests, "-test.v", "-test.failfast", "-test.parallel=4", fmt.Sprint("-test.short=", *short), fmt.Sprint("-test.timeout=", limit))
	c.Dir, c.Env = p.dir, append(os.Environ(), fmt.Sprint("HOTSHARD_FAULT=", id))
	return c.CombinedOutput()
}

// quickTests runs all tests, and returns a pattern of the quick ones, and the sum of their times.
func (p *pkg) quickTests() (pattern string, sum time.Duration) {
	said, err := p.run(0, 15*time.Minute, "-test.run=.")
	check(err, said)
	tests := regexp.MustCompile(`(?m)^--- PASS: (\w+) \(([0-9.]+s)\)`).FindAllStringSubmatch(string(said), -1)
	took := func(test []string) time.Duration { d, _ := time.ParseDuration(test[2]); return d }
	slices.SortFunc(tests, func(a, b []string) int { return cmp.Compare(took(a), took(b)) })
	for _, test := range tests {
		if sum+took(test) <= 10*time.Second {
			sum, pattern = sum+took(test), pattern+"|"+test[1]
		}
	}
	return "-test.run=^(" + strings.TrimPrefix(pattern, "|") + ")$", sum
}

// try runs tests with a fault.
func (p *pkg) try(f *fault, tests string, limit time.Duration) {
	said, err := p.run(f.id, limit, tests)
	late := regexp.MustCompile(" test timed out").FindString(string(said)) // by an endless loop, or on a busy machine
	f.operator, f.survives = f.operator+late, err == nil || late != ""
}
