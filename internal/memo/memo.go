// Package memo remembers values by texts, as many as fit: those that are asked for often
// stay, by the policy of otter, which is what keeps them. Values of all types share otter's
// code, of which the compiler would else make a copy for each: half a megabyte of a binary.
package memo

import "github.com/maypok86/otter/v2"

// Memo is a memory for values of one type. Its methods may be called by many goroutines. A
// value that is handed out must not be changed.
type Memo[V any] struct{ entries *otter.Cache[string, any] }

// New returns a Memo for so many values.
func New[V any](most int) Memo[V] {
	return Memo[V]{otter.Must(&otter.Options[string, any]{MaximumSize: most})}
}

// Weighing returns a Memo for values that weigh so much together.
func Weighing[V any](most uint64, weigh func(name string, v V) uint32) Memo[V] {
	return Memo[V]{otter.Must(&otter.Options[string, any]{
		MaximumWeight: most, Weigher: func(name string, v any) uint32 { return weigh(name, v.(V)) },
	})}
}

// Get returns what is remembered by a name; ok is false for nothing.
func (m Memo[V]) Get(name string) (v V, ok bool) {
	found, ok := m.entries.GetIfPresent(name)
	if ok {
		v = found.(V)
	}
	return v, ok
}

// Set remembers a value in the place of the one before.
func (m Memo[V]) Set(name string, v V) { m.entries.Set(name, v) }

// Forget drops a value.
func (m Memo[V]) Forget(name string) { m.entries.Invalidate(name) }

// GetOr returns what is remembered, or else remembers what is made: once, however many ask.
func (m Memo[V]) GetOr(name string, make func() V) V {
	v, _ := m.entries.ComputeIfAbsent(name, func() (any, bool) { return make(), false })
	return v.(V)
}
