// Package boards keeps leaderboards: players by score, in periods. See [Boards].
package boards
