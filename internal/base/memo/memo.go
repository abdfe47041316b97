// Package memo caches values by name in bounded memory. It wraps otter, which evicts values that are
// used less often. Values of all types share one instantiation of otter's generic code: one for each
// type would add half a megabyte to a binary.
package memo

import "github.com/maypok86/otter/v2"

// Memo is a cache of values of one type. It is safe for concurrent use. A returned value must
// not be changed.
type Memo[V any] struct{ entries *otter.Cache[string, any] }

// New returns a Memo of at most maxEntries values.
func New[V any](maxEntries int) Memo[V] {
	return Memo[V]{otter.Must(&otter.Options[string, any]{MaximumSize: maxEntries})}
}

// Weighing returns a Memo whose values' weights add up to at most maxWeight.
func Weighing[V any](maxWeight uint64, weigh func(name string, v V) uint32) Memo[V] {
	return Memo[V]{otter.Must(&otter.Options[string, any]{
		MaximumWeight: maxWeight, Weigher: func(name string, v any) uint32 { return weigh(name, v.(V)) },
	})}
}

// Get returns the cached value; ok is false if there is none.
func (m Memo[V]) Get(name string) (v V, ok bool) {
	found, ok := m.entries.GetIfPresent(name)
	if ok {
		v = found.(V)
	}
	return v, ok
}

// Set caches a value and replaces the one before.
func (m Memo[V]) Set(name string, v V) { m.entries.Set(name, v) }

// Forget removes a value, if it is cached.
func (m Memo[V]) Forget(name string) { m.entries.Invalidate(name) }

// GetOr returns the cached value, or makes and caches one. Concurrent callers share one call of
// make.
func (m Memo[V]) GetOr(name string, make func() V) V {
	v, _ := m.entries.ComputeIfAbsent(name, func() (any, bool) { return make(), false })
	return v.(V)
}
