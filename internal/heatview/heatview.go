// Package heatview shows an operator a table's hot keys as they are written: line by line, or
// as a view of the terminal. It knows heat as a [heat.Source], whoever has counted it.
//
//	watched := &heatview.Watched{Source: reader, Settled: reader.Settled, Run: reader.Run, Name: "orders"}
//	err := heatview.Print(ctx, os.Stdout, watched, heatview.Options{JSON: true})
package heatview

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/keyname"
	"github.com/hotshard/hotshard/internal/query"
)

// Watched is heat that is looked at.
type Watched struct {
	Source  heat.Source
	Settled func() time.Time            // windows that end by then are over
	Run     func(context.Context) error // reads on; nil where others do
	Shards  query.ShardCounts           // nil where no key has write shards
	Notices *Notices                    // nil for none
	Name    string
	Where   string
}

// lag is how long after its end a window's heat items have come, as a rule.
const lag = 10 * time.Second

// Counted is heat that a deployment counts, and a source reads from its tables.
func Counted(source heat.Source, shards query.ShardCounts, name, where string) *Watched {
	settled := func() time.Time { return time.Now().Add(-lag) }
	return &Watched{Source: source, Settled: settled, Shards: shards, Name: name, Where: where}
}

// reading reads on, where nobody else does, while the work is done; the first of the two
// that fails ends the other.
func (w *Watched) reading(ctx context.Context, work func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	if w.Run != nil {
		group.Go(func() error { return w.Run(ctx) })
	}
	group.Go(func() error { return work(ctx) })
	return group.Wait()
}

// Notices are sentences for the operator, which come while something is shown.
type Notices struct {
	mu   sync.Mutex
	tell func(string)
}

// NewNotices hands sentences on to tell, until a view takes them.
func NewNotices(tell func(string)) *Notices { return &Notices{tell: tell} }

// Take is given a sentence.
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

// Options say what is shown.
type Options struct {
	Since  time.Time     // from when on; zero is now
	Span   time.Duration // how far back the view of one key goes; 15 minutes at least
	Table  string        // lines name a key's table if it is another one
	Index  string        // only partition keys of this index; "" is all
	Prefix string        // only keys that begin with it
	JSON   bool          // lines of JSON, in the place of tables
	Hash   bool          // pseudonyms in the place of keys
}

// keep leaves out what is not to be shown.
func (o *Options) keep(rows []heat.Row) (kept []heat.Row) {
	for _, row := range rows {
		if strings.HasPrefix(row.Key, o.Prefix) && (o.Index == "" || row.Index == o.Index) {
			kept = append(kept, row)
		}
	}
	return kept
}

// named is how a key is shown.
func (o *Options) named(key string) string {
	if o.Hash {
		return keyname.Pseudonym(key)
	}
	return key
}
