// Package sessions keeps the sessions of groups: who is active, until when, with which data.
// See [Sessions].
package sessions
