package prove

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// account is a fake account with tables and a stack.
type account struct {
	tables   map[string]int // by name: how often DeleteTable fails before it succeeds
	late     []string       // tables that appear after the first listing
	listings int
	stack    []string // its statuses, one for each check; the last stays
	reason   string   // of the stack's status
	deleted  []string
	removals int // requests for the stack's removal
	fault    error
}

func (a *account) ListTables(context.Context, *dynamodb.ListTablesInput, ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error) {
	if a.fault != nil {
		return nil, a.fault
	}
	out := &dynamodb.ListTablesOutput{}
	for name := range a.tables {
		out.TableNames = append(out.TableNames, name)
	}
	if a.listings++; a.listings == 1 {
		for _, name := range a.late {
			a.tables[name] = 0
		}
	}
	return out, nil
}

func (a *account) DeleteTable(_ context.Context, in *dynamodb.DeleteTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error) {
	left, ok := a.tables[*in.TableName]
	if !ok {
		return nil, &types.ResourceNotFoundException{}
	}
	if left > 0 {
		a.tables[*in.TableName]--
		return nil, &types.ResourceInUseException{}
	}
	delete(a.tables, *in.TableName)
	a.deleted = append(a.deleted, *in.TableName)
	return &dynamodb.DeleteTableOutput{}, nil
}

func (a *account) status(context.Context, string) (string, string, error) {
	if len(a.stack) == 0 {
		return "", "", nil
	}
	status := a.stack[0]
	if len(a.stack) > 1 {
		a.stack = a.stack[1:]
	}
	return status, a.reason, nil
}

func (a *account) remove(context.Context, string) error {
	a.removals++
	return nil
}

var aRecord = Record{ID: "abcdefgh", Begun: begun}

func (a *account) cleaner() *cleaner {
	return &cleaner{record: aRecord, tables: a, stack: a, tries: 8}
}

// TestClean checks that the run's tables and stack are removed, and nothing else.
func TestClean(t *testing.T) {
	mine := aRecord.Prefix()
	a := &account{
		tables: map[string]int{mine + "items": 0, mine + "plain": 2, "hotshard-items": 0, "hotshard-prove-other123-items": 0, "x" + mine + "items": 0},
		late:   []string{mine + "rollups"},
		stack:  []string{"CREATE_IN_PROGRESS", "DELETE_IN_PROGRESS", ""},
	}
	if err := a.cleaner().clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(a.deleted)
	if want := []string{mine + "items", mine + "plain", mine + "rollups"}; !slices.Equal(a.deleted, want) || a.removals != 1 || len(a.tables) != 3 {
		t.Errorf("deleted %v, want %v; %d requests for the stack's removal, want 1; left %v", a.deleted, want, a.removals, a.tables)
	}
}

// TestLateTable checks that a table is removed which appears after the first listing found none.
func TestLateTable(t *testing.T) {
	a := &account{tables: map[string]int{}, late: []string{aRecord.Prefix() + "items"}}
	if err := a.cleaner().clean(t.Context()); err != nil || len(a.deleted) != 1 {
		t.Errorf("clean returned %v, deleted %v", err, a.deleted)
	}
}

// TestLeft checks that the error names what can't be removed, with the reason.
func TestLeft(t *testing.T) {
	table := aRecord.Prefix() + "items"
	for name, c := range map[string]struct {
		account  *account
		want     []string
		removals int
	}{
		"a table that stays": {&account{tables: map[string]int{table: 1000}}, []string{"table " + table, "--cleanup"}, 0},
		"a stack that stays": {&account{stack: []string{"DELETE_IN_PROGRESS"}}, []string{"stack hotshard-prove-abcdefgh (DELETE_IN_PROGRESS)"}, 0},
		"a stack that fails twice": {
			&account{stack: []string{"DELETE_FAILED", "DELETE_IN_PROGRESS", "DELETE_FAILED"}, reason: "[Failures] is not empty"},
			[]string{"stack hotshard-prove-abcdefgh (DELETE_FAILED)", "[Failures] is not empty", "empty the failure bucket"}, 1,
		},
		"no permission": {&account{fault: errors.New("access denied")}, []string{"perhaps tables or a stack that begin with hotshard-prove-abcdefgh-", "access denied"}, 0},
	} {
		err := c.account.cleaner().clean(t.Context())
		if _, ok := errors.AsType[*LeftError](err); !ok || c.account.removals != c.removals {
			t.Errorf("%s: error %v, %d requests for the stack's removal, want %d", name, err, c.account.removals, c.removals)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", name, err, want)
			}
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	stays := (&account{tables: map[string]int{table: 1000}}).cleaner()
	stays.pause = time.Hour
	if err := stays.clean(cancelled); err == nil || !strings.Contains(err.Error(), "table "+table) {
		t.Errorf("cancelled: error %v, want the table", err)
	}
}

// ofAccount is a site in a fake account.
type ofAccount struct {
	Local
	account *account
}

func (s ofAccount) cleaner(context.Context, Record) (*cleaner, error) {
	c := s.account.cleaner()
	c.tries = 3
	return c, nil
}

// TestNoteStaysUntilNothingIsLeft checks that a note is removed only after all that its run created. A locked or
// unreadable note is not changed.
func TestNoteStaysUntilNothingIsLeft(t *testing.T) {
	folder := t.TempDir()
	a := &account{stack: []string{"DELETE_IN_PROGRESS"}}
	where := func(Record) (Site, error) { return ofAccount{account: a}, nil }
	held, _ := newNote(t, folder, nil)
	clean := func() error { return Clean(t.Context(), folder, where, io.Discard) }
	if err := clean(); err != nil {
		t.Errorf("locked note: %v", err)
	}
	checkNotes(t, folder, 1)
	if err := held.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := clean(); err == nil || !strings.Contains(err.Error(), "has left stack") {
		t.Errorf("while the stack exists: %v", err)
	}
	checkNotes(t, folder, 1)
	a.stack = nil
	if err := Clean(t.Context(), folder, func(Record) (Site, error) { return nil, errors.New("no Region") }, io.Discard); err == nil {
		t.Error("Clean returned no error without a site")
	}
	checkNotes(t, folder, 1)
	damaged := folder + "/12345678.json"
	if err := os.WriteFile(damaged, []byte(`{"id":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clean(); err == nil || !strings.Contains(err.Error(), "12345678.json: id") {
		t.Errorf("with a damaged note: %v", err)
	}
	checkNotes(t, folder, 1)
	if content, err := os.ReadFile(damaged); err != nil || string(content) != `{"id":""}` {
		t.Errorf("the damaged note is %q, %v; want it unchanged", content, err)
	}
}
