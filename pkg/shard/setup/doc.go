// Package setup creates hotshard's tables:
//
//	err := setup.Create(ctx, client, setup.WithPrefix("hotshard-"))
//
// [Tables] and [Expiry] return the inputs for programs that create tables by other means.
package setup
