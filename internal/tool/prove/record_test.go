package prove

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var begun = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// newNote writes a note into a folder.
func newNote(t *testing.T, folder string, change func(*Record)) (*note, Record) {
	t.Helper()
	r, err := newRecord(begun)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&r)
	}
	held, err := writeNote(folder, r)
	if err != nil {
		t.Fatal(err)
	}
	return held, r
}

// checkNotes checks the number of notes in a folder.
func checkNotes(t *testing.T, folder string, want int) {
	t.Helper()
	if paths, err := notes(folder); err != nil || len(paths) != want {
		t.Errorf("notes %v, %v, want %d", paths, err, want)
	}
}

// TestNotes checks that a note is read as it was written, by one process at a time.
func TestNotes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	checkNotes(t, folder, 0)
	held, written := newNote(t, folder, func(r *Record) { r.Region, r.Account = "eu-west-1", "123456789012" })
	paths, err := notes(folder)
	if err != nil || len(paths) != 1 || paths[0] != held.path {
		t.Fatalf("notes %v, %v, want %s", paths, err, held.path)
	}
	if _, _, err := openNote(held.path); !errors.Is(err, errBusy) {
		t.Errorf("while it is locked: %v, want %v", err, errBusy)
	}
	if err := held.file.Close(); err != nil { // as the process's end does
		t.Fatal(err)
	}
	again, read, err := openNote(held.path)
	if err != nil || read != written {
		t.Fatalf("the note has %+v, %v, want %+v", read, err, written)
	}
	if err := again.remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files %v are left, %v", left, err)
	}
}

// TestDamagedNotes checks that damaged notes are rejected. With an empty id, all tables of an account would be a run's.
func TestDamagedNotes(t *testing.T) {
	folder := t.TempDir()
	for content, want := range map[string]string{
		`{"id":""}`:                "want 8 lowercase letters",
		`{"id":"ABCDEFGH"}`:        "want 8 lowercase letters",
		`{"id":"abcdefg-"}`:        "want 8 lowercase letters",
		`{"id":"abcdefgh"}`:        "the note is of run abcdefgh",
		`{"id":`:                   "unexpected EOF",
		``:                         "EOF",
		`{"id":"12345678","x":[]}`: "", // the file's own name
	} {
		path := filepath.Join(folder, "12345678.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		held, _, err := openNote(path)
		if want == "" && err == nil {
			held.file.Close()
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", content, err, want)
		}
	}
}
