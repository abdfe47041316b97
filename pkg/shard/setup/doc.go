// Package setup makes hotshard's tables:
//
//	err := setup.Create(ctx, client, "hotshard-")
//
// [Tables] and [Expiry] say how, for programs that make theirs by other means.
package setup
