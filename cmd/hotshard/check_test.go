package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

func TestChecksWrongUsageIsOneLine(t *testing.T) {
	const oneOf = "want only one of --all, --type with --name, and --failed"
	checkOneLine(t, exitUsage, "check ", map[string]string{
		"--type counter":        "--type and --name are used together",
		"--name x":              "--type and --name are used together",
		"--type group --name x": "--type must be one of",
		"--type counter --name x --from 2026-01-05T00:00:00Z":   "a counter has no time",
		"--from 2026-01-05T00:00:00Z --to 2026-01-05T00:00:00Z": "--from must be before --to",
		"--from yesterday":               "--from: want a time such as 2026-01-05T12:00:00Z, not \"yesterday\" (see hotshard check --help)",
		"--from 2026-01-05T1:00:05Z":     "want a time such as",
		"--wait soon":                    "--wait: want a duration such as 90s, 1h30m, 7d or 1d12h, not \"soon\"",
		"--event-retention 1m":           "--event-retention 1m0s: want 0 or at least 1h",
		"--rollup-retention 1h":          "--rollup-retention 1h0m0s: want 0 or at least 24h",
		"--wait 2h":                      "--wait 2h0m0s: want 0 to 1h",
		"--read-units 0":                 "--read-units 0: want 1 to 1000000",
		"--rollups maybe":                "--rollups must be one of",
		"--endpoint nonsense":            `endpoint "nonsense": want a URL`,
		"--all --type counter --name x":  oneOf,
		"--all --failed":                 oneOf,
		"--failed --type board --name x": oneOf,
		"--lower":                        "--lower needs --repair",
	})
}

func TestChecksFailInOneLine(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	endpoint := " --endpoint " + enginetest.Endpoint(t)
	checkOneLine(t, exitBad, "check ", map[string]string{
		"--endpoint http://127.0.0.1:1":                        "no DynamoDB-compatible engine at http://127.0.0.1:1: ",
		"--prefix nowhere-" + endpoint:                         `no tables of hotshard with the prefix "nowhere-"; check --prefix and --endpoint: `,
		"--prefix nowhere- --failed" + endpoint:                `no tables of hotshard with the prefix "nowhere-"; check --prefix and --endpoint: `,
		"--prefix nowhere- --type counter --name x" + endpoint: `no tables of hotshard with the prefix "nowhere-"; check --prefix and --endpoint: `,
		"--type entity --name x --rollups false" + endpoint:    `the events of "x" are not rolled up`,
	})
	t.Setenv("HOTSHARD_ENDPOINT", "") // restored after the test
	os.Unsetenv("HOTSHARD_ENDPOINT")
	if code, _, err := hotshard(t, "check"); code != exitBad || !strings.Contains(err, "no AWS Region is set") {
		t.Errorf("without a Region: exit %d with %q", code, err)
	}
}

// TestNoCredentialsForTheTables checks that commands for a deployment's tables say how to get AWS credentials.
func TestNoCredentialsForTheTables(t *testing.T) {
	for name, value := range map[string]string{
		"HOTSHARD_ENDPOINT": "", "AWS_REGION": "eu-west-1", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "AWS_CONFIG_FILE": "/nowhere", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	os.Unsetenv("HOTSHARD_ENDPOINT")
	const want = "hotshard: No AWS credentials for the tables hotshard-*. Set AWS_PROFILE, run aws sso login"
	for _, command := range []string{
		"check", "console --stack --addr 127.0.0.1:0", "delete --type counter --name x --yes", "shards spread --type counter --name x",
	} {
		if code, _, text := hotshard(t, strings.Fields(command)...); code != exitBad || !strings.HasPrefix(text, want) {
			t.Errorf("%s: exit %d with %s", command, code, text)
		}
	}
}

// TestCheckDefaultsEqualFunctions checks that flags have the functions' defaults, and the values of their environment.
func TestCheckDefaultsEqualFunctions(t *testing.T) {
	var c CheckCmd
	parse(t, &c)
	names := map[string]string{"HOTSHARD_ITEMS_TABLE": "x", "HOTSHARD_EVENTS_TABLE": "x", "HOTSHARD_ROLLUPS_TABLE": "x", "HOTSHARD_SHARD_MAP_TABLE": "x"}
	writes, err := env.ParseAsWithOptions[ingest.Settings](env.Options{Environment: names})
	require.NoError(t, err)
	folds, err := env.ParseAsWithOptions[fold.Settings](env.Options{Environment: names})
	require.NoError(t, err)
	if c.EventRetention != writes.EventRetention || c.RollupRetention != folds.RollupRetention || c.options().Rollups != folds.Rollups {
		t.Errorf("flags %+v, want the defaults of %+v and %+v", c, writes, folds)
	}
	t.Setenv("HOTSHARD_EVENT_RETENTION", "2h")
	t.Setenv("HOTSHARD_ROLLUP_RETENTION", "25h")
	t.Setenv("HOTSHARD_ROLLUPS", "false")
	t.Setenv("HOTSHARD_ENDPOINT", "http://127.0.0.1:2")
	parse(t, &c, "--prefix", "p-", "--wait", "1m", "--read-units", "5", "--json")
	got := c.options()
	if got.EventRetention != 2*time.Hour || got.RollupRetention != 25*time.Hour || got.Rollups || got.Names != schema.NamesFor("p-") ||
		got.Wait != time.Minute || got.ReadUnits != 5 || !c.JSON || c.Endpoint != "http://127.0.0.1:2" || got.Repair || got.Lower {
		t.Errorf("%+v became %+v", c, got)
	}
}

// parse parses flags into a struct of a command.
func parse(t *testing.T, into any, args ...string) {
	t.Helper()
	parser, err := kong.New(into, kindVars())
	if err == nil {
		_, err = parser.Parse(args)
	}
	require.NoError(t, err)
}
