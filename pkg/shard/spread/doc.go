// Package spread measures how evenly a base key's write shards are used. See [Reader].
package spread
