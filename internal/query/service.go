package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/heat/windows"
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
	RollupsTable  string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
	ShardMapTable string `env:"HOTSHARD_SHARD_MAP_TABLE,notEmpty"`
	HeatTable     string `env:"HOTSHARD_HEAT_TABLE,notEmpty"`
	// Deadline bounds the work for one request, retries included; 100ms to 25s.
	Deadline time.Duration `env:"HOTSHARD_READ_DEADLINE" envDefault:"5s"`
	// DefaultSpan is how far back a range of events goes that names no start;
	// 1m or more. It suits the retention of events.
	DefaultSpan time.Duration `env:"HOTSHARD_EVENT_SPAN" envDefault:"720h"`
	// RollupRetention is how long event rollups are kept after the end of their
	// bucket, as the aggregator has it; 0 is for ever.
	RollupRetention time.Duration `env:"HOTSHARD_ROLLUP_RETENTION" envDefault:"0"`
	// ViewAge is the age beyond which a view of the shard map is renewed, up to 5s. It is
	// to be what the other functions have.
	ViewAge time.Duration `env:"HOTSHARD_VIEW_AGE" envDefault:"1s"`
	// SummaryAge is how long a counter's summary that was read is given to others who
	// ask for it; 0 to 1h, and 0 reads it for each. It adds to how far behind the
	// write shards a value may be; as_of tells.
	SummaryAge time.Duration `env:"HOTSHARD_SUMMARY_AGE" envDefault:"0"`
}

// Validate reports all faults at once.
func (s Settings) Validate() error {
	var faults []error
	if s.Deadline < 100*time.Millisecond || s.Deadline > 25*time.Second {
		faults = append(faults, fmt.Errorf("HOTSHARD_READ_DEADLINE is %v: want 100ms to 25s", s.Deadline))
	}
	if s.DefaultSpan < time.Minute {
		faults = append(faults, fmt.Errorf("HOTSHARD_EVENT_SPAN is %v: want at least 1m", s.DefaultSpan))
	}
	if s.RollupRetention < 0 {
		faults = append(faults, fmt.Errorf("HOTSHARD_ROLLUP_RETENTION is %v: want 0 or more", s.RollupRetention))
	}
	if s.ViewAge < 0 || s.ViewAge > shardmap.MaxViewAge {
		faults = append(faults, fmt.Errorf("HOTSHARD_VIEW_AGE is %v: want up to %v", s.ViewAge, shardmap.MaxViewAge))
	}
	if s.SummaryAge < 0 || s.SummaryAge > time.Hour {
		faults = append(faults, fmt.Errorf("HOTSHARD_SUMMARY_AGE is %v: want 0 to 1h", s.SummaryAge))
	}
	return errors.Join(faults...)
}

// Service reads what callers ask for.
type Service struct {
	settings  Settings
	client    Client
	shards    *shardmap.Map
	events    *events.Reader
	counter   *counters.Reader
	boards    *boards.Reader
	sessions  *sessions.Reader
	summaries *counters.CachedSummaries
	now       func() time.Time
	named     sync.Once // of others' keys in the shard map
}

// New returns a Service, or an error that lists all faults of the settings.
func New(settings Settings, client Client) (*Service, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	shards := shardmap.New(client, settings.ShardMapTable, shardmap.Options{ViewAge: settings.ViewAge})
	return &Service{
		settings:  settings,
		client:    client,
		shards:    shards,
		events:    events.NewReader(client, settings.ItemsTable, shards),
		counter:   counters.NewReader(client, settings.ItemsTable, shards),
		boards:    boards.NewReader(client, settings.ItemsTable, shards),
		sessions:  sessions.NewReader(client, settings.ItemsTable, shards),
		summaries: counters.NewCachedSummaries(counters.NewSummaries(client, settings.RollupsTable, shards), settings.SummaryAge),
		now:       time.Now,
	}, nil
}

// Handler is the function: what it makes once, in its init phase, to answer all
// requests of a container. It has the document of the whole API, of which the others
// are the calls of other functions.
func Handler(ctx context.Context, settings Settings, client Client, log *slog.Logger, others ...httpapi.Routes) (http.Handler, error) {
	service, err := New(settings, client)
	if err != nil {
		return nil, err
	}
	httpapi.Early(ctx, log, "reading the shard map", service.Load)
	reads := Routes(service)
	return httpapi.WithDocs(httpapi.New(log, reads), append(others, reads)...), nil
}

// Load reads the shard map, which the first call would otherwise wait for.
func (s *Service) Load(ctx context.Context) error { return s.shards.Load(ctx, s.now()) }

// Routes registers the service's calls. A nil service serves to document them.
func Routes(s *Service) httpapi.Routes {
	return func(api huma.API) {
		get(api, httpapi.ForCallers, "/v1/counters", "get-counters", "Read counters",
			"The value of one counter, or of up to 100. A counter that was never written is 0.", s.getCounters)
		get(api, httpapi.ForCallers, "/v1/events", "list-events", "Read an entity's events in order",
			"A page of the events of a range, by time and then id, each once. While there is a cursor there are more.", s.listEvents)
		get(api, httpapi.ForCallers, "/v1/events/{id}", "get-event", "Read one event",
			"The event of this entity, id and time, read consistently.", s.getEvent, http.StatusNotFound)
		get(api, httpapi.ForCallers, "/v1/rollups", "list-rollups", "Read counts and sums of an entity's events by hour or day",
			"What the events of each bucket add up to, as far as they are folded, mostly within a minute.", s.listRollups)
		get(api, httpapi.ForCallers, "/v1/leaderboards", "get-leaderboard", "Read the first of a leaderboard",
			"The first players in rank, as of the last fold.", s.getBoard, http.StatusNotFound)
		get(api, httpapi.ForCallers, "/v1/leaderboards/rank", "get-rank", "Read a player's rank and neighbours",
			"Where a player stands. The score is read consistently; as_of tells how fresh the rank is, and rank_error how far off it may be.", s.getRank, http.StatusNotFound)
		get(api, httpapi.ForCallers, "/v1/sessions", "count-sessions", "Count a group's active sessions",
			"How many have been started or renewed, and have neither ended nor been ended: as of an index, which is eventually consistent, so that one of the last second may not be counted as it is yet.", s.countSessions)
		get(api, httpapi.ForOperators, "/v1/shards", "get-shards", "Read shard counts",
			"The shard count of one key, with its history; or without type and name a list of all keys that ever had more than one.", s.getShards)
		HeatRoutes(s.heatOf())(api)
	}
}

// heatOf is what answers for the service what is hot; nil for a nil service.
func (s *Service) heatOf() *Heat {
	if s == nil {
		return nil
	}
	return NewHeat(windows.Reader{Client: s.client, Table: s.settings.HeatTable}, HeatOptions{
		Shards: s.shards, Deadline: s.settings.Deadline, Now: func() time.Time { return s.now() },
	})
}

// get registers a read, with the service's deadline and its errors as answers.
func get[I, O any](api huma.API, who httpapi.Audience, path, id, summary, description string,
	read func(context.Context, *I) (*O, error), more ...int,
) {
	op := httpapi.Operation(who, http.MethodGet, path, id, summary, description)
	op.Errors = append(op.Errors, more...)
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := read(ctx, in)
		if err != nil {
			return nil, httpapi.Problem(ctx, err)
		}
		return out, nil
	})
}

func (s *Service) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.settings.Deadline)
}

// invalid is the answer to a parameter that breaks a rule.
func invalid(location, message string, value any) error {
	return huma.Error422UnprocessableEntity("validation failed",
		&huma.ErrorDetail{Location: location, Message: message, Value: value})
}
