package erase

import (
	"context"

	"github.com/hotshard/hotshard/internal/schema"
)

// plain are the traces of keys without summaries: sessions and limits.
type plain struct{ *task }

func (p plain) match(k key) (what What, ok bool) {
	if p.base.Type == schema.Sessions { // found by the group's partition keys in the index
		if _, _, session := schema.ParseSessionKey(k.pk, k.sk); session {
			return Sessions, true
		}
		return Others, true
	}
	parsed, err := schema.ParseKey(k.pk)
	switch {
	case err != nil || parsed.Base != p.base:
		return "", false
	case k.sk == schema.ProbeSK:
		return Others, true
	}
	return Windows, true
}

func (plain) dropping(context.Context, What, key) (spare bool, err error) { return false, nil }

func (plain) dropped(context.Context, What, key, item) error { return nil }

func (plain) summaries(context.Context, int) error { return nil }

func (plain) last(context.Context) error { return nil }
