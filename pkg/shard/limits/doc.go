// Package limits counts hits against rate limits, over all processes. See [Limiter].
package limits
