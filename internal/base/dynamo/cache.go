package dynamo

import "github.com/maypok86/otter/v2"

// Cache caches values of one type by name in bounded memory. It is safe for concurrent use. A returned value must not be
// changed.
type Cache[V any] struct{ entries entries }

// entries is otter's cache of values of any type. It is an interface, because the compiler would otherwise generate a
// thousand functions in each package that uses a Cache.
type entries interface {
	GetIfPresent(name string) (any, bool)
	Set(name string, v any) (any, bool)
	Invalidate(name string) (any, bool)
	ComputeIfAbsent(name string, value func() (v any, cancel bool)) (any, bool)
}

// NewCache returns a Cache of at most maxEntries values.
func NewCache[V any](maxEntries int) Cache[V] { return Cache[V]{countedEntries(maxEntries)} }

// NewWeightedCache returns a Cache whose values' weights add up to at most maxWeight.
func NewWeightedCache[V any](maxWeight uint64, weigh func(name string, v V) uint32) Cache[V] {
	return Cache[V]{weightedEntries(maxWeight, func(name string, v any) uint32 { return weigh(name, v.(V)) })}
}

// countedEntries and weightedEntries are not inlined, so that the compiler generates otter's functions only in this package.
//
//go:noinline
func countedEntries(maxEntries int) entries {
	return otter.Must(&otter.Options[string, any]{MaximumSize: maxEntries})
}

//go:noinline
func weightedEntries(maxWeight uint64, weigh func(name string, v any) uint32) entries {
	return otter.Must(&otter.Options[string, any]{MaximumWeight: maxWeight, Weigher: weigh})
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

// GetOr returns the cached value. If there is none, it caches and returns the result of create, which concurrent callers
// share.
func (c Cache[V]) GetOr(name string, create func() V) V {
	v, _ := c.entries.ComputeIfAbsent(name, func() (any, bool) { return create(), false })
	return v.(V)
}
