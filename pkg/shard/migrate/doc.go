// Package migrate moves the items of a [table.Table] to another layout, format or shard count,
// while programs read and write. See [Migration].
//
//	orders := migrate.Migration{Client: client, From: &old, To: &new, Phase: migrate.WriteBoth}
//	err := orders.Put(ctx, item, now)
//	done, err := orders.Copy(ctx, "acme", table.Span{}, now, nil)
package migrate
