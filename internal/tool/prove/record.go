package prove

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Record describes a run. It is stored before the run makes anything.
type Record struct {
	ID    string    `json:"id"` // 8 letters and digits
	Begun time.Time `json:"begun"`
	// Endpoint is the URL of the engine of a run on this machine. OwnEngine means that the run started the engine,
	// which ends with the run and loses its data.
	Endpoint  string `json:"endpoint,omitempty"`
	OwnEngine bool   `json:"own_engine,omitempty"`
	// Region and Account are those of a run on AWS.
	Region  string `json:"region,omitempty"`
	Account string `json:"account,omitempty"`
}

const family = "hotshard-prove-"

// Prefix returns the prefix of all names that the run makes.
func (r Record) Prefix() string { return family + r.ID + "-" }

// Stack returns the name of the run's stack on AWS.
func (r Record) Stack() string { return family + r.ID }

func newRecord(now time.Time) (Record, error) {
	r := Record{ID: strings.ToLower(rand.Text()[:8]), Begun: now.UTC()}
	return r, r.check()
}

var idForm = regexp.MustCompile(`^[a-z0-9]{8}$`)

// check returns an error for an id whose prefix could match resources of other runs.
func (r Record) check() error {
	if !idForm.MatchString(r.ID) {
		return fmt.Errorf("id %q: want 8 lowercase letters and digits", r.ID)
	}
	return nil
}

// note is a record on disk. Its lock is held while the run's process or one of its children is alive.
type note struct {
	file *os.File
	path string
}

const (
	noteEnding = ".json"
	newEnding  = ".new"
)

// writeNote stores a record in a folder. It is on the disk when writeNote returns.
func writeNote(folder string, r Record) (*note, error) {
	fail := func(err error) (*note, error) {
		return nil, fmt.Errorf("writing the run's note in %s: %w", folder, err)
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return fail(err)
	}
	path := filepath.Join(folder, r.ID+noteEnding)
	file, err := os.OpenFile(path+newEnding, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail(err)
	}
	_, err = file.Write(append(content, '\n'))
	if err = errors.Join(err, file.Sync()); err == nil {
		_, err = lock(file)
	}
	if err == nil {
		err = os.Rename(path+newEnding, path)
	}
	if err != nil {
		return fail(errors.Join(err, file.Close(), os.Remove(path+newEnding)))
	}
	if err := syncFolder(folder); err != nil {
		return fail(err)
	}
	return &note{file, path}, nil
}

// syncFolder writes a folder's entries to the disk.
func syncFolder(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// remove removes a note, when none of the run's resources is left.
func (n *note) remove() error { return errors.Join(os.Remove(n.path), n.file.Close()) }

// errBusy is the error for a note that another process holds.
var errBusy = errors.New("the run, or a process that it started, is still running")

// lockTries and lockPause bound the wait for a lock. A child process that is just starting briefly has its parent's open
// files, and with them the lock of a closed note.
const (
	lockTries = 100
	lockPause = 20 * time.Millisecond
)

// lockWithRetries locks a file. It returns errBusy if the lock is not free within two seconds.
func lockWithRetries(file *os.File) error {
	for range lockTries {
		if free, err := lock(file); free || err != nil {
			return err
		}
		time.Sleep(lockPause)
	}
	return errBusy
}

// openNote reads a note and locks it.
func openNote(path string) (*note, Record, error) {
	var r Record
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, r, err
	}
	err = lockWithRetries(file)
	if err == nil {
		err = json.NewDecoder(file).Decode(&r)
	}
	if err == nil {
		err = r.check()
	}
	if err == nil && filepath.Base(path) != r.ID+noteEnding {
		err = fmt.Errorf("the note is of run %s", r.ID)
	}
	if err != nil {
		return nil, r, errors.Join(err, file.Close())
	}
	return &note{file, path}, r, nil
}

// notes returns the paths of all notes of a folder, or none if the folder does not exist.
func notes(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the notes of earlier runs: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), noteEnding) {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, nil
}
