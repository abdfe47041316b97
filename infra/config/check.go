package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// faults collects errors.
type faults []error

// check adds a fault of a setting unless ok. want describes the valid values.
func (f *faults) check(ok bool, key string, value any, want string) {
	if !ok {
		f.add("%s is %v: want %s", key, value, want)
	}
}

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) oneOf(key, value string, allowed ...string) {
	f.check(slices.Contains(allowed, value), key, fmt.Sprintf("%q", value), strings.Join(allowed, " or "))
}

// check returns the faults that parsing does not find: values outside AWS's bounds, and contradictory settings.
func (c *Config) check() error {
	var f faults
	checkFieldTags(&c.Stack, &f)
	checkNames(&c.Stack, &f)
	checkAuth(&c.Stack, &f)
	checkTables(c, &f)
	checkStream(c, &f)
	checkSource(c, &f)
	return errors.Join(f...)
}

// checkFieldTags checks the rules in the fields' tags.
func checkFieldTags(s *Stack, f *faults) {
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		key := field.Tag.Get("env")
		if allowed, ok := field.Tag.Lookup("oneOf"); ok {
			f.oneOf(key, value.String(), strings.Split(allowed, " or ")...)
		}
		if span, ok := field.Tag.Lookup("between"); ok {
			var low, high int64
			if _, err := fmt.Sscanf(span, "%d to %d", &low, &high); err != nil {
				panic(err) // the tag is wrong
			}
			f.check(value.Int() >= low && value.Int() <= high, key, value, span)
		}
	}
}

// tag matches a tag, key=value.
var tag = regexp.MustCompile(`^[\pL\pN _.:/+@-]{1,128}=[\pL\pN _.:/+@-]{0,256}$`)

const mostTags = 40 // of the 50 that AWS allows on a resource; the rest is for AWS and other tools

var prefixForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]{0,30}-$`)

func checkNames(c *Stack, f *faults) {
	f.check(prefixForm.MatchString(c.Prefix), "prefix", fmt.Sprintf("%q", c.Prefix),
		"a letter, then letters, digits and hyphens, a hyphen at its end, up to 32 characters")
	f.check(len(c.Tags) <= mostTags, "tags", len(c.Tags), fmt.Sprintf("up to %d", mostTags))
	seen := map[string]bool{}
	for _, t := range c.Tags {
		key, _, _ := strings.Cut(t, "=")
		f.check(!seen[key], "tags", fmt.Sprintf("%q", t), "each key once")
		seen[key] = true
		f.check(tag.MatchString(t) && !strings.HasPrefix(strings.ToLower(key), "aws:"), "tags", fmt.Sprintf("%q", t),
			"key=value with commas between them; letters, digits, blanks and _.:/+-@, a key of 1 to 128 that does not begin with aws:, a value of up to 256")
	}
	if c.Email != "" {
		address, err := mail.ParseAddress(c.Email)
		f.check(err == nil && address.Address == c.Email, "email", fmt.Sprintf("%q", c.Email), "an address such as ops@example.com")
	}
}

func checkAuth(c *Stack, f *faults) {
	issuer, err := url.Parse(c.JWTIssuer)
	if c.Auth == "jwt" {
		f.check(err == nil && issuer.Scheme == "https" && issuer.Host != "", "jwtIssuer", fmt.Sprintf("%q", c.JWTIssuer), "an https URL, as auth is jwt")
		f.check(len(c.JWTAudience) > 0, "jwtAudience", "empty", "at least one audience, as auth is jwt")
		checkScopes(c, f)
	} else if c.JWTIssuer != "" || len(c.JWTAudience)+len(c.JWTScopes)+len(c.JWTAdminScopes) > 0 {
		f.add("jwtIssuer, jwtAudience, jwtScopes and jwtAdminScopes are for auth=jwt, and auth is %q", c.Auth)
	}
	for _, o := range c.CORSOrigins {
		f.check(origin.MatchString(o), "corsOrigins", fmt.Sprintf("%q", o), "origins such as https://app.example.com with commas between them; http:// for localhost only")
	}
}

// origin matches a page's origin: scheme, host and optional port.
var origin = regexp.MustCompile(`^(https://[a-zA-Z0-9.-]+|http://localhost)(:\d{1,5})?$`)

// scope matches an OAuth scope (RFC 6749, section 3.3) of API Gateway's length.
var scope = regexp.MustCompile(`^[!#-\[\]-~]{1,64}$`)

func checkScopes(c *Stack, f *faults) {
	for key, list := range map[string][]string{"jwtScopes": c.JWTScopes, "jwtAdminScopes": c.JWTAdminScopes} {
		for _, s := range list {
			f.check(scope.MatchString(s), key, fmt.Sprintf("%q", s), "scopes of 1 to 64 characters without blanks, quotes and backslashes, with commas between them")
		}
	}
	for _, s := range c.JWTAdminScopes {
		if slices.Contains(c.JWTScopes, s) {
			f.add("jwtAdminScopes and jwtScopes both have %q: all callers with it would be operators", s)
		}
	}
}

// longestWindow bounds windows by the period of alarms, a minute: each period then has a window's metrics. With a
// longer [Stack.RollupWindow] the aggregator would seem to be behind.
const longestWindow = time.Minute

func checkStream(c *Config, f *faults) {
	f.check(c.RollupWindow >= time.Second && c.RollupWindow <= longestWindow && c.RollupWindow%time.Second == 0, "rollupWindow", c.RollupWindow, "whole seconds, 1s to 1m")
	f.check(c.Hotkeys.Window <= longestWindow, "window", c.Hotkeys.Window, "1s to 1m: alarms evaluate minutes, and a window's metrics have the time of its start")
}

var (
	streamARN = regexp.MustCompile(`^arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):\d{12}:table/([a-zA-Z0-9_.-]{3,255})/stream/[0-9T:.-]+$`)
	keyARN    = regexp.MustCompile(`^arn:aws[a-z-]*:kms:([a-z0-9-]+):\d{12}:key/[a-zA-Z0-9-]+$`)
)

// unattached has the stack's settings that an attached deployment does not have.
var unattached = []string{
	"auth", "apiRate", "corsOrigins", "jwtIssuer", "jwtAudience", "jwtScopes", "jwtAdminScopes", "billing", "peakReads", "peakWrites", "rollupWindow", "readers",
}

// allUnattached returns all settings that an attached deployment does not have, also those of functions.
func allUnattached() []string {
	list, attached := slices.Clone(unattached), Variables()["hotkeys"]
	for _, k := range Keys() {
		if k.Variable != "" && !slices.Contains(attached, k.Variable) {
			list = append(list, k.Name)
		}
	}
	return list
}

func checkSource(c *Config, f *faults) {
	if c.SourceStreamARN == "" {
		f.check(c.SourceKeyARN == "", "sourceKeyArn", fmt.Sprintf("%q", c.SourceKeyARN), "nothing, as there is no sourceStreamArn")
		return
	}
	match := streamARN.FindStringSubmatch(c.SourceStreamARN)
	switch {
	case match == nil:
		f.add("sourceStreamArn is %q: want the ARN of a DynamoDB table's stream", c.SourceStreamARN)
	case c.SourceKeyARN != "":
		key := keyARN.FindStringSubmatch(c.SourceKeyARN)
		f.check(key != nil && key[1] == match[1], "sourceKeyArn", fmt.Sprintf("%q", c.SourceKeyARN), "the ARN of a key (not of an alias) in the table's Region, "+match[1])
	}
	if _, given := c.given["prefix"]; !given {
		f.add("prefix is not set, and sourceStreamArn is: a deployment that is attached to a table needs its own prefix, such as prefix=orders-, "+
			"or it replaces the deployment %q", strings.TrimSuffix(c.Prefix, "-"))
	}
	for _, key := range allUnattached() {
		if _, given := c.given[key]; given {
			f.add("%s is set, but a deployment that is attached to a table does not use it", key)
		}
	}
	control, given := c.given["control"]
	f.check(!given || control == "off", "control", fmt.Sprintf("%q", control), "off for a table that is only watched")
}
