package erase

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/schema"
)

// sweep deletes the items of the key: all that were there when it began, and of those
// that come meanwhile what it meets.
func (t *task) sweep(ctx context.Context) error {
	deletes, deleting := errgroup.WithContext(ctx)
	deletes.SetLimit(maxDeletes)
	err := t.find(deleting, func(what What, k key) error {
		if isNote(k.sk) {
			t.known(k)
			return nil
		}
		if what == Events || what == Others && t.base.Type == schema.Entity {
			if err := t.note(ctx, k); err != nil {
				return err
			}
		}
		deletes.Go(func() error { return t.drop(deleting, what, k) })
		return nil
	})
	if late := deletes.Wait(); late != nil { // which is why the finding ended
		err = late
	}
	t.swept = t.o.Now()
	return err
}

// drop deletes one item.
func (t *task) drop(ctx context.Context, what What, k key) error {
	old, err := t.remove(ctx, t.o.Names.Items, k.pk, k.sk)
	if err != nil || len(old) == 0 {
		return err
	}
	t.deleted(what, 1)
	t.o.Progress(1)
	if what == WriteShards {
		return t.tombstone(ctx, k.pk, old)
	}
	return nil
}

// count is a sweep that deletes nothing.
func (t *task) count(ctx context.Context) error {
	err := t.find(ctx, func(what What, k key) error {
		if !isNote(k.sk) {
			t.deleted(what, 1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.countSummaries(ctx)
}

// noteAudit begins the name of the audit that a note is of.
const noteAudit = "delete-"

// isNote tells notes from other marks.
func isNote(sk string) bool {
	audit, ok := schema.ParseMark(sk)
	return ok && strings.HasPrefix(audit, noteAudit)
}

// note puts a mark into the partition of an event that is to be deleted, before its
// first: it says, also to one who goes on after this process was killed, that the
// rollups of that day are still to be emptied. It expires a day later, when no record
// of the event can come any more.
func (t *task) note(ctx context.Context, k key) error {
	t.mu.Lock()
	defer t.mu.Unlock() // the others of the same partition wait for it
	if t.places[k.pk] {
		return nil
	}
	parsed, err := schema.ParseKey(k.pk)
	if err != nil {
		return err
	}
	sk := parsed.Bucket + schema.MarkBefore + noteAudit + ulid.Make().String() + "#0"
	it := attribute.Key(k.pk, sk)
	it[schema.ExpiresAt] = attribute.Number(t.o.Now().Add(schema.MarkLifetime).Unix())
	if _, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.o.Names.Items, Item: it}); err != nil {
		return fmt.Errorf("noting that events of %q are deleted: %w", k.pk, err)
	}
	t.places[k.pk] = true
	t.notes[key{k.pk, sk}] = true
	return nil
}

// known takes in a note that is there.
func (t *task) known(k key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.places[k.pk] = true
	t.notes[k] = true
}
