package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type shardsInput struct {
	Type   httpapi.Kind `query:"type" doc:"Needs name. Without both, the answer lists all keys in the shard map"`
	Name   httpapi.Name `query:"name" example:"page/home"`
	Cursor string       `query:"cursor" doc:"Cursor of the previous page of a list"`
}

type shardsOutput struct {
	Body oneOf[httpapi.ShardCount, shardsList]
}

type shardsList struct {
	Keys   []httpapi.ShardCount `json:"keys" doc:"Sorted by stored key"`
	Cursor string               `json:"cursor,omitempty" doc:"Requests the next page; absent on the last. A page has about 5 MB"`
}

// shardReader reads shard counts.
type shardReader struct{ view *shardmap.Map }

// getShards returns the shard count of a base key, which is 1 if it never changed. Without a base key it lists all keys whose
// count changed.
func (r *shardReader) getShards(ctx context.Context, in *shardsInput, now time.Time) (*shardsOutput, error) {
	switch {
	case in.Cursor != "" && (in.Type != "" || in.Name != ""):
		return nil, httpapi.InvalidAt("query.cursor", "it belongs to the list of all keys: omit type and name", in.Cursor)
	case in.Type == "" && in.Name == "":
		return r.listShards(ctx, in.Cursor, now)
	case in.Type == "":
		return nil, httpapi.InvalidAt("query.type", "name needs a type: add one, or omit name to list all keys", nil)
	case in.Name == "":
		return nil, httpapi.InvalidAt("query.name", "type needs a name: add one, or omit type to list all keys", nil)
	}
	base := schema.BaseKey{Type: schema.Kind(in.Type), Name: string(in.Name)}
	entry, err := r.view.Read(ctx, base.String())
	if err != nil {
		return nil, err
	}
	one := httpapi.ShowShards(base, entry)
	return &shardsOutput{oneOf[httpapi.ShardCount, shardsList]{One: &one}}, nil
}

// listShards returns a page of the shard counts after a cursor, sorted by stored key.
func (r *shardReader) listShards(ctx context.Context, cursor string, now time.Time) (*shardsOutput, error) {
	after, err := decodeCursor(listOfShards, cursor, isBaseKey)
	if err != nil {
		return nil, err
	}
	entries, err := r.view.Entries(ctx)
	if err != nil {
		return nil, err
	}
	onEarlierPage := func(e shardmap.Entry) bool { return e.Key <= after }
	ofOtherProgram := func(e shardmap.Entry) bool { return !isBaseKey(e.Key) }
	entries = slices.DeleteFunc(slices.DeleteFunc(entries, onEarlierPage), ofOtherProgram)
	slices.SortFunc(entries, func(a, b shardmap.Entry) int { return cmp.Compare(a.Key, b.Key) })
	list, err := fitList(entries)
	return &shardsOutput{oneOf[httpapi.ShardCount, shardsList]{Other: list}}, err
}

// listOfShards has the parameters of a list of shard counts: none.
const listOfShards = "shards"

func isBaseKey(key string) bool {
	_, err := schema.ParseBaseKey(key)
	return err == nil
}

// fitList returns the first entries, as many as fit into one response.
func fitList(entries []shardmap.Entry) (shardsList, error) {
	list := shardsList{Keys: []httpapi.ShardCount{}}
	left := httpapi.MaxAnswer
	for i, e := range entries {
		base, err := schema.ParseBaseKey(e.Key)
		if err != nil {
			return list, err
		}
		count := httpapi.ShowShards(base, e)
		weight, err := httpapi.WeightOf(count)
		if err != nil {
			return list, err
		}
		left -= weight
		if left < 0 && i > 0 {
			list.Cursor = encodeCursor(listOfShards, entries[i-1].Key)
			break
		}
		list.Keys = append(list.Keys, count)
	}
	return list, nil
}
