// Package boards keeps leaderboards: players ranked by score, in periods. See [Boards].
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	kept := boards.New(client, "hotshard-items", shards, boards.Options{Retention: 720 * time.Hour})
//	score, err := boards.ParseScore("12.5")
//	errs := kept.Submit(ctx, "game/1", []boards.PlayerScore{{Player: "ann", Score: score}}, now)
//	first, err := kept.Top(ctx, "game/1", boards.AllTime.Label(now), 10, now)
package boards
