package infra

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/template.json and variants.txt")

// asset matches the name of a function's file, which changes with its content.
var asset = regexp.MustCompile(`[0-9a-f]{64}\.zip`)

// golden compares a text with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(got), "\n")
	for n, line := range strings.Split(string(want), "\n") {
		if n >= len(lines) || lines[n] != line {
			t.Fatalf("line %d of %s is %q; got %q. -update writes the file", n+1, file, line, lines[min(n, len(lines)-1)])
		}
	}
	if len(got) > len(want) {
		t.Errorf("%s lacks %q. -update writes the file", file, got[len(want):])
	}
}

// TestGolden compares the template with testdata/template.json. To accept a change, run
//
//	go -C infra test -run TestGolden -update .
func TestGolden(t *testing.T) {
	golden(t, "template.json", append(asset.ReplaceAll(deployed(t).text, []byte("<asset>.zip")), '\n'))
}

// variants are deployments that together have all settings which change the template.
var variants = map[string]map[string]any{
	"attached":   attachedWith("sourceKeyArn", "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"),
	"one reader": {"readers": "one"},
	"tokens": {"auth": "jwt", "jwtIssuer": "https://issuer.example.com/pool", "jwtAudience": "one,two", "jwtScopes": "read,write", "jwtAdminScopes": "ops",
		"corsOrigins": "https://app.example.com,http://localhost:3000"},
	"settings": {"prefix": "other-", "removal": "destroy", "pitr": "false", "encryption": "account", "peakReads": "20000", "peakWrites": "10000", "threshold": "0.5",
		"partitionWcu": "200", "email": "ops@example.com", "tags": "team=data,cost center=42 a/b", "apiRate": "24", "window": "30s", "streamShards": 51.0, "rollupWindow": "15s"},
	"provisioned":   {"billing": "provisioned", "peakReads": "500", "peakWrites": "1001"},
	"small account": {"accountConcurrency": "10", "metricNames": "off"},
	"large account": {"accountConcurrency": 2000.0},
}

// TestGoldenVariants compares how other deployments differ from the default one with testdata/variants.txt: lines of the
// default template have -, others +. TestGolden says how to accept a change.
func TestGoldenVariants(t *testing.T) {
	var b strings.Builder
	standard := leaves(deployed(t))
	for _, name := range sorted(variants) {
		fmt.Fprintf(&b, "== %s\n", name)
		got := leaves(with(t, variants[name]))
		all := maps.Clone(standard)
		maps.Copy(all, got)
		for _, path := range sorted(all) {
			was, is := standard[path], got[path]
			kind := path[:strings.IndexAny(path+".", ".[")] + ".Type"
			switch {
			case was == is, got[kind] == "" && is == "" && path != kind: // a resource that is absent has one line
				continue
			case was != "":
				fmt.Fprintf(&b, "- %s: %s\n", path, was)
			}
			if is != "" {
				fmt.Fprintf(&b, "+ %s: %s\n", path, is)
			}
		}
	}
	golden(t, "variants.txt", []byte(b.String()))
}

// leaves returns the values of a template by their paths.
func leaves(tm *template) map[string]string {
	list := map[string]string{}
	var add func(path string, value any)
	add = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			if len(v) == 1 { // a reference
				list[path] = text(v)
				return
			}
			for _, name := range sorted(v) {
				add(path+"."+name, v[name])
			}
		case []any:
			for n, one := range v {
				add(fmt.Sprintf("%s[%d]", path, n), one)
			}
		default:
			list[path] = asset.ReplaceAllString(strings.ReplaceAll(text(v), "\n", " "), "<asset>.zip")
		}
	}
	for id, r := range tm.Resources {
		add(id, map[string]any{"Type": r.Type, "DeletionPolicy": r.DeletionPolicy, "UpdateReplacePolicy": r.UpdateReplacePolicy, "UpdatePolicy": map[string]any(r.UpdatePolicy)})
		add(id, map[string]any(r.Properties))
	}
	for name, output := range tm.Outputs {
		list[name+".Type"], list[name+".Value"] = "output", text(output.Value)
	}
	return list
}
