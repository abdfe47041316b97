package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
)

// maxKeyed is the most items of a keyed call: a transaction takes 100 actions,
// one of them the key's marker.
const maxKeyed = 99

const keyName = "Idempotency-Key"

// CallKey is the header that makes a call apply once.
type CallKey struct {
	Key    keyText `header:"Idempotency-Key" doc:"Applies the call once within 24 hours, whatever is retried, and gives the same answer again: 1 to 255 letters, digits, or any of -._~:/+=. At most 99 items then. It stands for the body to the byte: the same JSON with other white space is another call, which is a 409. A key is the caller's own: the same key of another IAM user or role, or of another token's subject, is another key; the sessions of a role share theirs."`
	path   string
	caller string
}

// keyText is a key as it is sent.
type keyText string

// Schema describes it in the OpenAPI document; Resolve checks it.
func (keyText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: map[string]any{"pattern": `^[A-Za-z0-9._~:/+=-]{1,255}$`, "minLength": 1, "maxLength": 255}}
}

// Resolve checks the key as part of the request's validation. A list of keys is
// no key: which of them it would be depends on who splits it.
func (k *CallKey) Resolve(ctx huma.Context) []error {
	k.path, k.caller = ctx.Operation().Path, httpapi.Caller(ctx.Context())
	var sent []string
	ctx.EachHeader(func(name, value string) {
		if strings.EqualFold(name, keyName) {
			sent = append(sent, value)
		}
	})
	if len(sent) == 0 || len(sent) == 1 && validKey(sent[0]) {
		return nil
	}
	return []error{&huma.ErrorDetail{
		Location: "header." + keyName,
		Message:  "it must be one key of 1 to 255 letters, digits, or any of -._~:/+=",
		Value:    strings.Join(sent, ", "),
	}}
}

func validKey(key string) bool {
	for _, c := range []byte(key) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("-._~:/+=", c) < 0 {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= 255
}

func (k *CallKey) keyed() bool { return k.Key != "" }

func tooManyKeyed(n int, field string) error {
	return httpapi.InvalidAt("body."+field, fmt.Sprintf("a call with an Idempotency-Key takes at most %d items", maxKeyed), n)
}

// applyOnce makes a keyed call's writes and its marker one transaction, and
// returns the answer: this one, or that of the call's first time.
func applyOnce[A any](ctx context.Context, s *Service, k *CallKey, body []byte, answer A, now time.Time,
	actions func(context.Context) ([]types.TransactWriteItem, error),
) (A, error) {
	return decideOnce(ctx, s, k, body, now, func(ctx context.Context) ([]types.TransactWriteItem, A, error) {
		writes, err := actions(ctx)
		return writes, answer, err
	})
}

// decideOnce is applyOnce for a call whose answer depends on what is read for its
// writes.
func decideOnce[A any](ctx context.Context, s *Service, k *CallKey, body []byte, now time.Time,
	decide func(context.Context) ([]types.TransactWriteItem, A, error),
) (answer A, err error) {
	first, err := s.once.Decide(ctx, k.call(body), now, func(ctx context.Context) (writes []types.TransactWriteItem, text []byte, err error) {
		if writes, answer, err = decide(ctx); err == nil {
			text, err = json.Marshal(answer)
		}
		return writes, text, err
	})
	return firstOr(first, err, answer)
}

// setOnce is for a call that sets something to what it says, whatever that was: done
// again at once, it changes nothing. So its effect and its marker need not be one
// transaction: it looks for the marker, sets, and puts the marker if it is absent. When
// it is cut off before the last step, or finds no capacity for it, which is a 503, a
// repetition sets again, which undoes what others have set since; and of two calls at a
// time with one key and different bodies both may take effect, though one of them is
// answered with a 409.
func setOnce[A any](ctx context.Context, s *Service, k *CallKey, body []byte, now time.Time,
	set func(context.Context) (A, error),
) (answer A, err error) {
	if !k.keyed() {
		return set(ctx)
	}
	if first, err := s.once.Before(ctx, k.call(body), now); err != nil || first != nil {
		return firstOr(first, err, answer)
	}
	if answer, err = set(ctx); err != nil {
		return answer, err
	}
	call := k.call(body)
	if call.Answer, err = json.Marshal(answer); err != nil {
		return answer, fmt.Errorf("encoding the answer: %w", err)
	}
	first, err := s.once.Do(ctx, call, now, func(context.Context) ([]types.TransactWriteItem, error) { return nil, nil })
	return firstOr(first, afterSet(err), answer)
}

// afterSet is an error of what came after something was set: no refusal, which would
// mean that nothing was done.
func afterSet(err error) error {
	if errors.Is(err, shard.ErrThrottled) {
		return fmt.Errorf("%w after it was set: %v", shard.ErrUnavailable, err)
	}
	return err
}

// firstOr returns the answer of a call's first time, if it had one before, or this.
func firstOr[A any](first []byte, err error, this A) (A, error) {
	switch {
	case errors.Is(err, once.ErrOtherCall):
		return this, huma.Error409Conflict("the Idempotency-Key was used for another call")
	case err != nil || first == nil:
		return this, err
	}
	var again A
	if err := json.Unmarshal(first, &again); err != nil {
		return this, fmt.Errorf("decoding the first answer: %w", err)
	}
	return again, nil
}

func (k *CallKey) call(body []byte) once.Call {
	return once.Call{Key: k.own(), Digest: digest(k.path, body)}
}

// own is the key as the caller's own: no other caller's key is the same. A key has no #.
func (k *CallKey) own() string {
	if k.caller == "" {
		return string(k.Key)
	}
	digest := sha256.Sum256([]byte(k.caller))
	return hex.EncodeToString(digest[:16]) + "#" + string(k.Key)
}

func digest(path string, body []byte) []byte {
	h := sha256.New()
	_, _ = io.WriteString(h, path+"\n")
	_, _ = h.Write(body)
	return h.Sum(nil)
}
