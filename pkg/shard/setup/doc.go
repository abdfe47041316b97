// Package setup makes hotshard's tables:
//
//	err := setup.Create(ctx, client, setup.WithPrefix("hotshard-"))
//
// [Tables] and [Expiry] say how, for programs that make theirs by other means.
package setup
