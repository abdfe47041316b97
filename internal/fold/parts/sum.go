package parts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Refresh stores the sum of a summary's fragments at another key. If few fragments or fewer count, it
// stores a sum that counts nothing, and readers add up the fragments. begun is true if the stored sum
// counts now and did not before.
//
// Refresh returns ErrMoved, and stores nothing, if fragments were replaced in the last 30 s, or if
// another sum was stored: its sum may have counted a record twice, or lack some. If a fragment is
// damaged, Refresh returns an error, and a stored sum counts nothing from then on.
func (s *Store[V]) Refresh(ctx context.Context, db client.Updater, key, at Key, few int) (begun bool, err error) {
	stored, err := s.Read(ctx, at) // before the fragments
	if err != nil {
		return false, err
	}
	read, err := s.Read(ctx, key)
	if err != nil {
		return false, err
	}
	damage := Damage(read)
	if damage != nil {
		few = len(read)
	}
	counts := func(p Part[V]) bool { return p.Counts(s.now()) }
	if len(stored) == 0 && (damage != nil || !slices.ContainsFunc(read, counts)) {
		return false, damagedErr(key, damage)
	}
	if slices.ContainsFunc(read, s.replacedRecently) {
		return false, fmt.Errorf("adding up the fragments of %q: %w", key.Target, ErrMoved)
	}
	next := s.sum(read, few)
	var was Part[V]
	if len(stored) > 0 {
		was = stored[0]
	}
	_, err = db.UpdateItem(ctx, s.update(at, was.Sequence, next))
	if _, moved := dynamo.ConditionFailed(err); moved {
		err = ErrMoved
	}
	if err != nil {
		return false, fmt.Errorf("storing the sum of %q: %w", key.Target, err)
	}
	counted := len(stored) > 0 && was.Counts(s.now())
	return next.Counts(s.now()) && !counted, damagedErr(key, damage)
}

// mergeTime is the time after which a query sees all changes of a transaction or none. Before, it may
// see some of them: AWS completes a stalled transaction after 5 s.
const mergeTime = 30 * time.Second

// replacedRecently reports whether a transaction wrote the fragment in the last mergeTime. If a query
// saw half of the transaction, it returned such a fragment, or one into which records were folded
// since.
func (s *Store[V]) replacedRecently(p Part[V]) bool {
	at := p.AsOf
	switch {
	case p.Merged():
	case p.Emptied():
		at = time.Unix(p.ExpiresAt, 0).Add(-schema.EmptiedLifetime)
	default:
		return false
	}
	return s.now().Sub(at) < mergeTime
}

func damagedErr(key Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("adding up the fragments of %q: %w", key.Target, err)
}

// sum returns the sum of the fragments that count, or a sum that counts nothing if few or fewer do.
func (s *Store[V]) sum(read []Part[V], few int) Part[V] {
	now := s.now()
	var total V
	counting := slices.DeleteFunc(slices.Clone(read), func(p Part[V]) bool { return !p.Counts(now) })
	if len(counting) > few {
		total = s.Sum(counting)
	}
	expires, _ := Last(counting, now)
	next := s.merged(total, expires, now)
	if len(counting) > few { // a sum of 0 counts, too
		next.Sequence, next.ExpiresAt = strings.TrimSuffix(next.Sequence, schema.EmptiedSuffix), expires
	}
	next.StreamShard, next.AsOf = "", time.Time{}
	for _, p := range counting {
		if p.AsOf.After(next.AsOf) {
			next.AsOf = p.AsOf
		}
	}
	return next
}
