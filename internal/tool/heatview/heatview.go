// Package heatview shows a table's hot keys live: as lines, or as a terminal view. It reads any [heat.Source].
//
//	watched := &heatview.Watched{Source: reader, Settled: reader.Settled, Run: reader.Run, Name: "orders"}
//	err := heatview.Print(ctx, os.Stdout, watched, heatview.Options{JSON: true})
package heatview

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Watched is a table whose heat is shown.
type Watched struct {
	Source    heat.Source
	Settled   func() time.Time            // returns the time before which windows are complete
	Run       func(context.Context) error // reads the stream; nil if another process reads it
	Transient func(error) bool            // reports whether an error of Source or Shards is transient; nil if none is
	Shards    ShardCounts                 // nil if no key has write shards

	// Explain returns an error of Source or Shards with what to do about it. It may call AWS. If nil, errors stay as
	// they are.
	Explain func(context.Context, error) error

	// Notify passes a sentence of Run to the operator. The terminal view replaces it; nil if Run has none.
	Notify  func(sentence string)
	Name    string
	Where   string
	Indexes []string // the table's indexes
}

// ShardCounts reads the number of write shards of base keys; [*shardmap.Map] implements it.
type ShardCounts interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Partitions(table string) int
}

// lag is the usual time from a window's end until its heat items are written.
const lag = 10 * time.Second

// Counted returns a deployment's heat, which source reads from the deployment's tables.
func Counted(source heat.Source, shards ShardCounts, name, where string) *Watched {
	settled := func() time.Time { return time.Now().Add(-lag) }
	return &Watched{Source: source, Settled: settled, Shards: shards, Name: name, Where: where}
}

// runWith runs work and w.Run concurrently. If one fails, the other is cancelled.
func (w *Watched) runWith(ctx context.Context, work func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	if w.Run != nil {
		group.Go(func() error { return w.Run(ctx) })
	}
	group.Go(func() error { return work(ctx) })
	return group.Wait()
}

// transient applies Transient to an error of Source or Shards.
func (w *Watched) transient(err error) bool { return w.Transient != nil && w.Transient(err) }

// explain applies Explain to an error of Source or Shards.
func (w *Watched) explain(ctx context.Context, err error) error {
	if w.Explain == nil {
		return err
	}
	return w.Explain(ctx, err)
}

// Options select the time and the keys to show, and the form.
type Options struct {
	Since    time.Time     // start of the first window; zero is now
	Span     time.Duration // how long windows are kept, 15 minutes to an hour; other values are set to the nearest
	Table    string        // lines name a key's table only if it differs
	Index    string        // only partition keys of this index; "" for all
	Prefix   string        // only keys that begin with this text
	JSON     bool          // lines of JSON instead of text
	Hash     bool          // pseudonyms instead of keys
	Programs *Programs     // they spread names over several partition keys
}

// selectRows returns the rows that the options select.
func (o *Options) selectRows(rows []heat.KeyHeat) (kept []heat.KeyHeat) {
	for _, row := range rows {
		if strings.HasPrefix(row.Key, o.Prefix) && (o.Index == "" || row.Index == o.Index) {
			kept = append(kept, row)
		}
	}
	return kept
}

// named returns the key as shown: itself or its pseudonym.
func (o *Options) named(key string) string {
	if o.Hash {
		return keyname.Pseudonym(key)
	}
	return key
}

// noMatch returns a [NoMatch] if keys were written and the index or prefix matched none of them; else nil.
func (o *Options) noMatch(written, matched bool) error {
	if !written || matched || (o.Index == "" && o.Prefix == "") {
		return nil
	}
	return &NoMatch{o.Index, o.Prefix}
}

// NoMatch means that no written key matched the index or prefix.
type NoMatch struct{ Index, Prefix string }

func (e *NoMatch) Error() string {
	switch {
	case e.Index != "" && e.Prefix != "":
		return fmt.Sprintf("No key of index %q that begins with %q was written. Check --index and --prefix.", e.Index, e.Prefix)
	case e.Index != "":
		return fmt.Sprintf("No key of index %q was written. Check --index.", e.Index)
	}
	return fmt.Sprintf("No key that begins with %q was written. Check --prefix.", e.Prefix)
}
