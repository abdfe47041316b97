package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxKeyed bounds the items of a keyed call. A transaction has up to 100 actions, and one of them puts the key's
// marker.
const maxKeyed = 99

const keyName = "Idempotency-Key"

// bodyInput is the input of a call with a body.
type bodyInput[T any] struct {
	CallKey
	Body    T
	RawBody []byte
}

// Resolve parses the body and validates the key.
func (in *bodyInput[T]) Resolve(ctx huma.Context) []error {
	in.body = in.RawBody
	return append(httpapi.Decode(ctx, in.RawBody, &in.Body), in.CallKey.Resolve(ctx)...)
}

// CallKey is the header that has a call applied once. It also has the path, body and caller that identify the call.
type CallKey struct {
	Key    keyText `header:"Idempotency-Key" doc:"Applies the call once within 24 hours (a setting of the deployment, keyLifetime), however often it is sent, and returns the first answer again: 1 to 255 letters, digits, or any of -._~:/+=. The call may then have at most 99 items. The key stands for the exact bytes of the body: the same JSON with other white space is another call, which gets a 409. Each caller has its own keys: an IAM user, an IAM role with all its sessions, or a token's subject."`
	path   string
	body   []byte
	caller string
}

// keyForm matches valid keys.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9._~:/+=-]{1,255}$`)

// keyText is the header's value.
type keyText string

// Schema describes the key in the OpenAPI document; Resolve checks it.
func (keyText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Extensions: map[string]any{"pattern": keyForm.String(), "minLength": 1, "maxLength": 255}}
}

// Resolve validates the key, and sets the path and the caller. It rejects several headers: proxies join and split
// headers differently. It rejects a key of the caller Nameless, because another such caller could use the same key.
func (k *CallKey) Resolve(ctx huma.Context) []error {
	k.path, k.caller = ctx.Operation().Path, httpapi.Caller(ctx.Context())
	var sent []string
	ctx.EachHeader(func(name, value string) {
		if strings.EqualFold(name, keyName) {
			sent = append(sent, value)
		}
	})
	fault := ""
	switch {
	case len(sent) == 0:
		return nil
	case len(sent) > 1 || !keyForm.MatchString(sent[0]):
		fault = "it must be one key of 1 to 255 letters, digits, or any of -._~:/+="
	case k.caller == httpapi.Nameless:
		fault = "the token has no sub, client_id or azp claim, so other callers could use the same key: call without a key, or have the issuer add a claim"
	default:
		return nil
	}
	return []error{&huma.ErrorDetail{Location: "header." + keyName, Message: fault, Value: strings.Join(sent, ", ")}}
}

func (k *CallKey) keyed() bool { return k.Key != "" }

func tooManyKeyed(n int, field string) error {
	return httpapi.InvalidAt("body."+field, fmt.Sprintf("a call with an Idempotency-Key takes at most %d items", maxKeyed), n)
}

// applyOnce applies a keyed call's writes and its marker in one transaction. It returns the answer that decide returns
// with the writes, or the stored answer if the call was applied before.
func applyOnce[A any](ctx context.Context, service *Service, key *CallKey, now time.Time,
	decide func(context.Context) ([]shardmap.Write, A, error),
) (answer A, err error) {
	first, err := service.once.Decide(ctx, key.storedCall(), now, func(ctx context.Context) ([]shardmap.Write, []byte, error) {
		writes, decided, err := decide(ctx)
		if err != nil {
			return nil, nil, err
		}
		answer = decided
		text, err := json.Marshal(decided)
		return writes, text, err
	})
	return chooseAnswer(first, err, answer)
}

// setOnce applies a call that overwrites settings, keyed or not. For a keyed call it reads the marker, calls set, and
// puts the marker if it is absent. It needs no transaction, because set may be repeated.
//
// If setOnce fails before the marker is put, a retry sets again, and overwrites what others have set since. Two
// concurrent calls with one key and different bodies may both take effect, although one gets a 409.
func setOnce[A any](ctx context.Context, service *Service, key *CallKey, now time.Time,
	set func(context.Context) (A, error),
) (answer A, err error) {
	if !key.keyed() {
		return set(ctx)
	}
	if first, err := service.once.Before(ctx, key.storedCall(), now); err != nil || first != nil {
		return chooseAnswer(first, err, answer)
	}
	if answer, err = set(ctx); err != nil {
		return answer, err
	}
	call := key.storedCall()
	if call.Answer, err = json.Marshal(answer); err != nil {
		return answer, fmt.Errorf("encoding the answer: %w", err)
	}
	first, err := service.once.Do(ctx, call, now, func(context.Context) ([]shardmap.Write, error) { return nil, nil })
	return chooseAnswer(first, unavailableAfterSet(err), answer)
}

// unavailableAfterSet returns an ErrUnavailable for an error that followed the write of settings, if it is
// ErrThrottled: callers would take that to mean that nothing was written. It returns other errors unchanged.
func unavailableAfterSet(err error) error {
	if errors.Is(err, shard.ErrThrottled) {
		return fmt.Errorf("%w after the settings were written: %v", shard.ErrUnavailable, err)
	}
	return err
}

// chooseAnswer returns the stored answer if the call was applied before, else answer. stored and err are results of
// package once. If the key was used for another call, chooseAnswer returns a 409.
func chooseAnswer[A any](stored []byte, err error, answer A) (A, error) {
	switch {
	case errors.Is(err, once.ErrOtherCall):
		return answer, huma.Error409Conflict("the Idempotency-Key was used for another call, with another path or body: use a new key")
	case err != nil || stored == nil:
		return answer, err
	}
	var first A
	if err := json.Unmarshal(stored, &first); err != nil {
		return answer, fmt.Errorf("decoding the first answer to an Idempotency-Key: %w", err)
	}
	return first, nil
}

// storedCall returns the call as package once stores it: the stored key, and a digest of the path and the body.
func (k *CallKey) storedCall() once.Call {
	h := sha256.New()
	_, _ = io.WriteString(h, k.path+"\n")
	_, _ = h.Write(k.body)
	return once.Call{Key: k.storedKey(), Digest: h.Sum(nil)}
}

// storedKey returns the key, after a digest of the caller (if not "") and a #, which no key has: callers share no keys.
func (k *CallKey) storedKey() string {
	if k.caller == "" {
		return string(k.Key)
	}
	digest := sha256.Sum256([]byte(k.caller))
	return hex.EncodeToString(digest[:16]) + "#" + string(k.Key)
}
