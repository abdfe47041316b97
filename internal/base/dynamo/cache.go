package dynamo

import "github.com/maypok86/otter/v2"

// Cache caches values of one type by name in bounded memory. It is safe for concurrent use. A returned value must not be
// changed. Values of all types share one instantiation of otter's generic code: one for each type would add half a
// megabyte to a binary.
type Cache[V any] struct{ entries *otter.Cache[string, any] }

// NewCache returns a Cache of at most maxEntries values.
func NewCache[V any](maxEntries int) Cache[V] {
	return Cache[V]{otter.Must(&otter.Options[string, any]{MaximumSize: maxEntries})}
}

// NewWeightedCache returns a Cache whose values' weights add up to at most maxWeight.
func NewWeightedCache[V any](maxWeight uint64, weigh func(name string, v V) uint32) Cache[V] {
	return Cache[V]{otter.Must(&otter.Options[string, any]{
		MaximumWeight: maxWeight, Weigher: func(name string, v any) uint32 { return weigh(name, v.(V)) },
	})}
}

// Get returns the cached value; ok is false if there is none.
func (c Cache[V]) Get(name string) (v V, ok bool) {
	found, ok := c.entries.GetIfPresent(name)
	if ok {
		v = found.(V)
	}
	return v, ok
}

// Set caches a value and replaces the one before.
func (c Cache[V]) Set(name string, v V) { c.entries.Set(name, v) }

// Forget removes a value, if it is cached.
func (c Cache[V]) Forget(name string) { c.entries.Invalidate(name) }

// GetOr returns the cached value, or makes and caches one. Concurrent callers share one call of
// make.
func (c Cache[V]) GetOr(name string, make func() V) V {
	v, _ := c.entries.ComputeIfAbsent(name, func() (any, bool) { return make(), false })
	return v.(V)
}
