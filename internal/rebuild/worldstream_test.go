package rebuild_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// node is a stream shard. Its children, if it was split, are delivered after it.
type node struct {
	name     string
	depth    int
	records  []string
	done     int // delivered
	children [2]*node
}

// leaf returns the open stream shard of a partition key.
func (w *world) leaf(pk string) *node {
	hash := fnv.New32a()
	hash.Write([]byte(pk))
	bits := hash.Sum32()
	n := w.roots[bits&1]
	for n.children[0] != nil {
		n = n.children[bits>>(8+n.depth)&1]
	}
	return n
}

// record appends a record to the stream.
func (w *world) record(name, pk, sk, images string) {
	w.last++
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, sk)
	n := w.leaf(pk)
	n.records = append(n.records, fmt.Sprintf(`{"eventName":%q,"dynamodb":{"SequenceNumber":"%d","Keys":{%s}%s}}`, name, w.last, keys, strings.ReplaceAll(images, "KEYS", keys)))
}

// split closes a stream shard, which then has two children.
func (w *world) split() {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	if n.children[0] != nil || n.depth > 3 {
		return
	}
	for i := range n.children {
		n.children[i] = &node{name: fmt.Sprint(n.name, ".", i), depth: n.depth + 1}
		w.nodes = append(w.nodes, n.children[i])
	}
}

// deliver delivers the next records of a stream shard, or of its ancestor that has some.
func (w *world) deliver(t testing.TB, n *node, most int) {
	for _, parent := range w.nodes {
		if parent.children[0] == n || parent.children[1] == n {
			if w.deliver(t, parent, len(parent.records)); parent.done < len(parent.records) {
				return
			}
		}
	}
	upTo := min(len(n.records), n.done+most)
	w.hand(t, n, n.done, upTo)
	n.done = upTo
}

func (w *world) deliverAll(t testing.TB) {
	for _, n := range w.nodes {
		w.deliver(t, n, len(n.records))
	}
}

// redeliver delivers records again.
func (w *world) redeliver(t testing.TB) {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	if n.done > 0 {
		from := w.random.IntN(n.done)
		w.hand(t, n, from, from+1+w.random.IntN(n.done-from))
	}
}

func (w *world) hand(t testing.TB, n *node, from, to int) {
	if from == to {
		return
	}
	out, err := w.folds[w.random.IntN(2)].Invoke(context.Background(), enginetest.WindowedBatch(n.name, n.records[from:to]...))
	if err != nil || bytes.Contains(out, []byte("itemIdentifier")) {
		t.Errorf("the aggregator returned %s, %v", out, err)
	}
}
