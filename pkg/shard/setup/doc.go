// Package setup creates hotshard's tables:
//
//	err := setup.Create(ctx, client, setup.WithPrefix("hotshard-"))
//
// Programs that create tables by other means use the inputs that [Tables] and [Expiry] return.
package setup
