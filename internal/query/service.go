package query

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Settings are the function's environment variables.
type Settings struct {
	// The tables' names. Required.
	ItemsTable    string `env:"HOTSHARD_ITEMS_TABLE,notEmpty"`
	EventsTable   string `env:"HOTSHARD_EVENTS_TABLE,notEmpty"`
	RollupsTable  string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`
	HeatTable     string `env:"HOTSHARD_HEAT_TABLE,notEmpty"`
	// EventRetention is how long events are kept, and so the length of a range without a start; 0 is for ever, with
	// ranges of 720h. It should equal ingest's.
	EventRetention time.Duration `env:"HOTSHARD_EVENT_RETENTION" envDefault:"720h"`
	// RollupRetention is how long event rollups are kept after the end of their bucket; 0 for ever. It must equal the
	// aggregator's.
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" envDefault:"0"`

	// These are not in the environment.
	Deadline time.Duration    // of one request; 0 means the constant Deadline
	ViewAge  time.Duration    // age at which the view of the shard map is refreshed, up to 5s; 0 means the library's default
	Commands display.Commands // for the command lines in advice
}

// Deadline bounds the work for one request, with retries: a range over all write shards of many days takes seconds.
const Deadline = 5 * time.Second

// defaultSpan is the length of a range without a start if events are kept for ever.
const defaultSpan = 720 * time.Hour

// Validate returns an error for an invalid setting.
func (s Settings) Validate() error {
	if s.RollupRetention < 0 {
		return fmt.Errorf("HOTSHARD_ROLLUP_RETENTION is %v: want 0 or more", s.RollupRetention)
	}
	return nil
}

// Service answers reads. Each kind has a reader of its own.
type Service struct {
	settings Settings
	view     *shardmap.Map
	counters counterReader
	events   eventReader
	rollups  rollupReader
	boards   boardReader
	sessions sessionReader
	shards   shardReader
	heat     *Heat
	now      func() time.Time
}

// New returns a Service, or an error for an invalid setting.
func New(settings Settings, client Client) (*Service, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	settings.Deadline = cmp.Or(settings.Deadline, Deadline)
	names := schema.Names{Items: settings.ItemsTable, Events: settings.EventsTable, Rollups: settings.RollupsTable, ShardMap: settings.ShardMapTable, Heat: settings.HeatTable}
	span := cmp.Or(settings.EventRetention, defaultSpan)
	view := shardmap.New(client, settings.ShardMapTable, shardmap.Options{ViewAge: settings.ViewAge})
	source := heat.WindowReader{Client: client, Table: settings.HeatTable}
	return &Service{
		settings: settings,
		view:     view,
		counters: counterReader{
			summaries: counters.NewSummaries(client, names.Of(schema.Counter), settings.RollupsTable, view),
			shards:    counters.NewReader(client, names.Of(schema.Counter), view),
		},
		events:  eventReader{events: events.NewReader(client, names.Of(schema.Event), view), span: span},
		rollups: rollupReader{client: client, table: settings.RollupsTable, span: span, retention: settings.RollupRetention},
		boards: boardReader{
			client: client, items: names.Of(schema.Board), rollups: settings.RollupsTable,
			entries: boards.NewReader(client, names.Of(schema.Board), view), histograms: newHistogramCache(),
		},
		sessions: sessionReader{sessions.NewReader(client, names.Of(schema.Session), view)},
		shards:   shardReader{view: view},
		heat: NewHeat(source, HeatOptions{
			Shards: view, Deadline: settings.Deadline, Now: time.Now, Commands: settings.Commands,
		}),
		now: time.Now,
	}, nil
}

// Handler returns the function's HTTP handler, and begins to read the shard map. A container calls it once, in its init
// phase. The handler serves this function's calls, and an OpenAPI document of them and of others' calls.
func Handler(ctx context.Context, settings Settings, client Client, log *slog.Logger, others ...httpapi.Routes) (http.Handler, error) {
	service, err := New(settings, client)
	if err != nil {
		return nil, err
	}
	httpapi.CallEarly(ctx, log, "reading the shard map", service.Load)
	reads := Routes(service)
	return WithDocs(httpapi.New(log, reads), append(others, reads)...), nil
}

// Load reads the shard map, so that the first call does not wait for it.
func (s *Service) Load(ctx context.Context) error { return s.view.Load(ctx, s.now()) }

// Routes registers the service's calls. A nil service only documents them.
func Routes(service *Service) httpapi.Routes {
	if service == nil {
		service = &Service{heat: new(Heat)} // documented calls are never made
	}
	return func(api *httpapi.API) {
		c := calls{api, service.settings.Deadline, service.now}
		get(c, httpapi.ForCallers, "/v1/counters", "get-counters", "Read counters",
			"Returns the values of 1 to 100 counters. A counter that was never written is 0.", service.counters.getCounters)
		get(c, httpapi.ForCallers, "/v1/events", "list-events", "Read an entity's events in order",
			"Returns a page of the events in a time range, sorted by time and then id. If the page has a cursor, there may be more.", service.events.listEvents)
		get(c, httpapi.ForCallers, "/v1/events/{id}", "get-event", "Read one event",
			"Returns the event with this entity, id and time. The read is consistent.", service.events.getEvent, http.StatusNotFound)
		get(c, httpapi.ForCallers, "/v1/rollups", "list-rollups", "Read counts and sums of an entity's events by hour or day",
			"Returns counts and sums of the events in each bucket. Most events are folded into them within two seconds.", service.rollups.listRollups)
		get(c, httpapi.ForCallers, "/v1/leaderboards", "get-leaderboard", "Read the best entries of a leaderboard",
			"Returns the players with the best scores, as of the last fold.", service.boards.getBoard, http.StatusNotFound)
		get(c, httpapi.ForCallers, "/v1/leaderboards/rank", "get-rank", "Read a player's rank and neighbours",
			"Returns a player's score, which is read consistently, and its rank. The rank may be off by rank_error, and is as of as_of.", service.boards.getRank, http.StatusNotFound)
		get(c, httpapi.ForCallers, "/v1/sessions", "get-sessions", "Read a session, or count a group's active sessions",
			"Returns an active session, which is read consistently, or without id the number of sessions that have not expired and were not ended. The number is read from an index, which mostly has a change within a second.", service.sessions.getSessions, http.StatusNotFound)
		get(c, httpapi.ForCallers, "/v1/sessions/list", "list-sessions", "List a group's active sessions",
			"Returns a page of a group's active sessions, sorted by id. If the page has a cursor, there are more. A session that is active while all pages are read is in one of them. The index mostly has a change within a second.", service.sessions.listSessions)
		get(c, httpapi.ForOperators, "/v1/shards", "get-shards", "Read shard counts",
			"Returns the shard count of one key with its history, or without type and name a list of all keys that ever had more than one write shard.", service.shards.getShards)
		HeatRoutes(service.heat)(api)
	}
}

// calls registers reads, with the deadline of each and the clock.
type calls struct {
	api      *httpapi.API
	deadline time.Duration
	now      func() time.Time
}

// get registers a read. Its handler gets the time of the request.
func get[I, O any](c calls, who httpapi.Audience, path, id, summary, description string,
	read func(context.Context, *I, time.Time) (*O, error), more ...int,
) {
	op := httpapi.Operation(who, http.MethodGet, path, id, summary, description)
	op.Errors = append(op.Errors, more...)
	httpapi.Register(c.api, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, c.deadline)
		defer cancel()
		return read(ctx, in, c.now())
	})
}
