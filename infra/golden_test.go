package infra

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/template.json")

// asset matches the name of a function's file, which changes with its content.
var asset = regexp.MustCompile(`[0-9a-f]{64}\.zip`)

// TestGolden compares the template with testdata/template.json. To accept a change, run
//
//	go -C infra test -run TestGolden -update .
func TestGolden(t *testing.T) {
	file := filepath.Join("testdata", "template.json")
	got := append(asset.ReplaceAll(deployed(t).text, []byte("<asset>.zip")), '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		line := 1
		for n := range min(len(got), len(want)) {
			if got[n] != want[n] {
				break
			}
			if got[n] == '\n' {
				line++
			}
		}
		t.Errorf("the template differs from %s in line %d; -update writes the file", file, line)
	}
}
