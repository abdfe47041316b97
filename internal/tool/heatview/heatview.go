// Package heatview shows an operator a table's hot keys live: line by line, or as a view of the
// terminal. It reads any [heat.Source].
//
//	watched := &heatview.Watched{Source: reader, Settled: reader.Settled, Run: reader.Run, Name: "orders"}
//	err := heatview.Print(ctx, os.Stdout, watched, heatview.Options{JSON: true})
package heatview

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Watched is the heat that is shown.
type Watched struct {
	Source  heat.Source
	Settled func() time.Time            // windows that end by then are complete
	Run     func(context.Context) error // reads the stream; nil if another process does
	Passing func(error) bool            // reports whether Source or Shards may answer soon; nil for never
	Shards  ShardCounts                 // nil if no key has write shards

	// Explain replaces an error of Source or Shards that does not pass by one that says what to do. It may call AWS.
	// nil keeps errors.
	Explain func(context.Context, error) error

	Notices *Notices // nil for none
	Name    string
	Where   string
	Indexes []string // of a table
}

// ShardCounts reads the number of write shards of base keys. A [*shardmap.Map] has it.
type ShardCounts interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Partitions(table string) int
}

// lag is how long after its end a window's heat items normally arrive.
const lag = 10 * time.Second

// Counted returns the heat that a deployment counts; source reads it from the deployment's tables.
func Counted(source heat.Source, shards ShardCounts, name, where string) *Watched {
	settled := func() time.Time { return time.Now().Add(-lag) }
	return &Watched{Source: source, Settled: settled, Shards: shards, Name: name, Where: where}
}

// reading runs w.Run, if any, during work. The first of the two that fails ends the other.
func (w *Watched) reading(ctx context.Context, work func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	if w.Run != nil {
		group.Go(func() error { return w.Run(ctx) })
	}
	group.Go(func() error { return work(ctx) })
	return group.Wait()
}

// passing reports whether a call to Source or Shards that failed with err may succeed soon.
func (w *Watched) passing(err error) bool { return w.Passing != nil && w.Passing(err) }

// explain returns an error of Source or Shards after Explain.
func (w *Watched) explain(ctx context.Context, err error) error {
	if w.Explain == nil {
		return err
	}
	return w.Explain(ctx, err)
}

// Notices are sentences for the operator that arrive during the view.
type Notices struct {
	mu   sync.Mutex
	tell func(string)
}

// NewNotices returns notices that pass sentences to tell until a view takes them.
func NewNotices(tell func(string)) *Notices { return &Notices{tell: tell} }

// Take passes a sentence on.
func (n *Notices) Take(sentence string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell(sentence)
}

func (n *Notices) to(tell func(string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell = tell
}

// Options select what is shown.
type Options struct {
	Since  time.Time     // start of the first window; zero is now
	Span   time.Duration // how far back the view of one key goes; 15 minutes to an hour
	Table  string        // lines name a key's table if it is another one
	Index  string        // only partition keys of this index; "" is all
	Prefix string        // only keys that begin with it
	JSON   bool          // lines of JSON instead of text
	Hash   bool          // pseudonyms instead of keys
}

// keep returns the rows that the options select.
func (o *Options) keep(rows []heat.KeyHeat) (kept []heat.KeyHeat) {
	for _, row := range rows {
		if strings.HasPrefix(row.Key, o.Prefix) && (o.Index == "" || row.Index == o.Index) {
			kept = append(kept, row)
		}
	}
	return kept
}

// named returns how a key is shown.
func (o *Options) named(key string) string {
	if o.Hash {
		return keyname.Pseudonym(key)
	}
	return key
}

// noMatch returns a [NoMatch] if keys were written and the options' index or prefix matched none of
// them; else nil.
func (o *Options) noMatch(written, matched bool) error {
	if !written || matched || (o.Index == "" && o.Prefix == "") {
		return nil
	}
	return &NoMatch{o.Index, o.Prefix}
}

// NoMatch is the error of a filter that no key matched while it was watched.
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
