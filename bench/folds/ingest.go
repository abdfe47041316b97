package folds

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
)

// processes bounds those of each function that live at one time.
const processes = 3

// process is one of ingest's.
type process struct {
	life    *life
	handler http.Handler
}

// pool has a number of processes; one that died is replaced by one that knows
// nothing.
type pool[P any] struct {
	start  func() (P, error)
	lifeOf func(P) *life

	mu  sync.Mutex
	all [processes]P
}

func newPool[P any](start func() (P, error), lifeOf func(P) *life) (*pool[P], error) {
	p := &pool[P]{start: start, lifeOf: lifeOf}
	for i := range p.all {
		var err error
		if p.all[i], err = start(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *pool[P]) pick(i int) (P, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lifeOf(p.all[i]).over() {
		fresh, err := p.start()
		if err != nil {
			return fresh, err
		}
		p.all[i] = fresh
	}
	return p.all[i], nil
}

// settingsOf reads a function's settings as the function does. Shard counts are
// changed by the harness alone.
func settingsOf[T any](r *system) (T, error) {
	return rig.Settings[T](r.Tables, "HOTSHARD_CONTROL="+string(ingest.Off), "HOTSHARD_ROLLUP_RULES="+rules)
}

func (r *system) startIngest() (*process, error) {
	life := newLife()
	c := &client{Client: r.DB, dice: r.dice, chances: ingestChances, who: "ingest", life: life, books: r.books, applied: func() { r.count(writes, 1) }, broken: r.o.broken}
	c.broken.fold = false
	settings, err := settingsOf[ingest.Settings](r)
	if err != nil {
		return nil, err
	}
	service, err := ingest.New(settings, c, rig.Silent)
	if err != nil {
		return nil, err
	}
	return &process{life, httpapi.New(rig.Silent, ingest.Routes(service))}, nil
}

// post sends a call to a process of ingest. answered is false when that died
// before it had answered.
func (r *system) post(ctx context.Context, path string, body []byte, key string) (status int, answer []byte, answered bool, err error) {
	p, err := r.ingest.pick(r.dice.intN(processes))
	if err != nil {
		return 0, nil, false, err
	}
	ctx, done := p.life.within(ctx)
	defer done()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, false, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	recorder := httptest.NewRecorder()
	p.handler.ServeHTTP(recorder, request)
	r.count(sends, 1)
	return recorder.Code, recorder.Body.Bytes(), !p.life.over(), nil
}
