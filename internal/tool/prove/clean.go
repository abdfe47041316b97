package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// tableAPI lists and deletes tables.
type tableAPI interface {
	ListTables(context.Context, *dynamodb.ListTablesInput, ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error)
}

// stackAPI reads and deletes a stack. A status of "" means no stack; why is the reason of a status, if there is one.
type stackAPI interface {
	status(ctx context.Context, name string) (status, why string, err error)
	remove(ctx context.Context, name string) error
}

// cleaner removes a run's stack and tables, and checks that they are gone.
type cleaner struct {
	record Record
	tables tableAPI
	stack  stackAPI // nil if there are no stacks
	pause  time.Duration
	tries  int
	asked  bool // the stack's removal was requested
}

// LeftError means that resources of a run are left.
type LeftError struct {
	Record Record
	What   []string
	Why    error // the last error; nil after a timeout without one
}

func (e *LeftError) Error() string {
	text := fmt.Sprintf("run %s has left %s", e.Record.ID, strings.Join(e.What, ", "))
	if e.Why != nil {
		text += fmt.Sprintf(" (%v)", e.Why)
	}
	return text + ": run hotshard prove --cleanup"
}

func (e *LeftError) Unwrap() error { return e.Why }

// clean removes everything. It returns nil after two checks in a row that find nothing, since a killed process's last
// request may take effect after the first check.
func (c *cleaner) clean(ctx context.Context) error {
	if err := c.record.check(); err != nil {
		return err
	}
	var left []string
	var fault error
	for try, gone := 0, 0; try < c.tries; try++ {
		left, fault = c.removeFound(ctx)
		if fault == nil && left == nil {
			if gone++; gone == 2 {
				return nil
			}
		} else {
			gone = 0
		}
		if given, ok := errors.AsType[*giveUpError](fault); ok {
			return &LeftError{c.record, left, given}
		}
		if !dynamo.Pause(ctx, c.pause) {
			return &LeftError{c.record, c.maybeLeft(left), errors.Join(fault, ctx.Err())}
		}
	}
	return &LeftError{c.record, c.maybeLeft(left), fault}
}

// maybeLeft returns what was found, or a note of what may be left if listing failed.
func (c *cleaner) maybeLeft(left []string) []string {
	if left == nil {
		return []string{"perhaps tables or a stack that begin with " + c.record.Prefix()}
	}
	return left
}

// giveUpError is an error that retries can't fix.
type giveUpError struct{ error }

func (e *giveUpError) Unwrap() error { return e.error }

// removeFound requests the removal of everything it finds, and returns what it found.
func (c *cleaner) removeFound(ctx context.Context) (left []string, err error) {
	if c.stack != nil {
		// The stack's tables go with it. Tables that are left then are not the stack's.
		if left, err = c.removeStack(ctx); err != nil || left != nil {
			return left, err
		}
	}
	names, err := c.list(ctx)
	for _, name := range names {
		left = append(left, "table "+name)
		_, deleteErr := c.tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		if isTransient(deleteErr) {
			deleteErr = nil
		}
		err = errors.Join(err, deleteErr)
	}
	return left, err
}

// isTransient reports whether deleting a table failed because it can't be deleted yet, or is already deleted.
func isTransient(err error) bool {
	if _, ok := errors.AsType[*types.ResourceInUseException](err); ok {
		return true // it is being created or deleted
	}
	if _, ok := errors.AsType[*types.LimitExceededException](err); ok {
		return true // too many tables are being deleted
	}
	_, gone := errors.AsType[*types.ResourceNotFoundException](err)
	return gone
}

// removeStack requests the removal of the stack if it exists.
func (c *cleaner) removeStack(ctx context.Context) (left []string, err error) {
	name := c.record.Stack()
	status, why, err := c.stack.status(ctx, name)
	switch {
	case err != nil:
		return []string{"perhaps stack " + name}, err
	case status == "":
		return nil, nil
	case status == "DELETE_FAILED" && c.asked:
		err = &giveUpError{fmt.Errorf("CloudFormation could not delete it: %s; empty the failure bucket if that is the reason, and delete the stack in the AWS console", why)}
	case status != "DELETE_IN_PROGRESS":
		err = c.stack.remove(ctx, name)
		c.asked = err == nil
	}
	return []string{"stack " + name + " (" + status + ")"}, err
}

// list returns the names of the run's tables.
func (c *cleaner) list(ctx context.Context) (names []string, err error) {
	pages := dynamodb.NewListTablesPaginator(c.tables, &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing tables: %w", err)
		}
		for _, name := range page.TableNames {
			if strings.HasPrefix(name, c.record.Prefix()) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// cleanNote removes a run's resources, and then its note.
func cleanNote(ctx context.Context, site Site, held *note, r Record) error {
	c, err := site.cleaner(ctx, r)
	if err == nil && c != nil {
		err = c.clean(ctx)
	}
	if err != nil {
		return errors.Join(err, held.file.Close())
	}
	return held.remove()
}

// Clean removes the resources of earlier runs that have left a note in folder, and prints a line for each. It skips runs
// in progress. where returns the site of a record.
func Clean(ctx context.Context, folder string, where func(Record) (Site, error), notices io.Writer) error {
	paths, err := notes(folder)
	if err != nil {
		return err
	}
	var faults []error
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if err := cleanPath(ctx, path, where, notices); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", filepath.Base(path), err))
		}
	}
	return errors.Join(faults...)
}

func cleanPath(ctx context.Context, path string, where func(Record) (Site, error), notices io.Writer) error {
	held, r, err := openNote(path)
	if errors.Is(err, errBusy) {
		fmt.Fprintf(notices, "%s: %v; skipped\n", filepath.Base(path), err)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(notices, "removing the resources of run %s of %s\n", r.ID, r.Begun.Format(time.DateTime))
	site, err := where(r)
	if err != nil {
		return errors.Join(err, held.file.Close())
	}
	return cleanNote(ctx, site, held, r)
}
