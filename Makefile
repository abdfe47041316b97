# Everything that is done to this repository by hand or by a machine is a target
# here. `make` lists them. Variables:
#
#   ARGS              for run: the flags of `hotshard local`; for bootstrap, deploy and
#                     destroy: more flags of the CDK's
#   TESTFLAGS         for test and test-long: more flags of `go test`
#   FUZZTIME          for fuzz: how long for each target
#   PKG, FAULTS, SEED for mutate: a package, about how many faults, and which
#   ROUNDS            for bench: turns of each decoder on each payload
#   VERSION           for release and image: what `hotshard version` says, such as v1.2.3
#   BUILDER           for image: docker or buildah, whichever is there
#   FN, EVENT         for invoke: a function's name and an event's file
#   CONTEXT           for bootstrap, synth, deploy and destroy: settings, as -c key=value,
#                     beside those of infra/cdk.context.json
#   APPROVAL          for deploy: what it asks about: any-change, broadening (of
#                     permissions), never
#   HOTSHARD_ENDPOINT another DynamoDB-compatible endpoint than the fetched engine
#   HOTSHARD_BROWSER  another browser for the tests; none leaves out the tests that need one

FUNCTIONS   := ingest hotkeys aggregator reader query
ARCHS       := arm64 amd64
DIST        := dist
SOURCES     := cmd examples functions internal pkg
INFRA       := infra
BENCH       := bench
CONSOLE     := internal/tool/console
CDK         := node_modules/.bin/cdk
APPROVAL    := any-change
FUZZTIME    := 30s
FAULTS      := 80
SEED        := 1
ROUNDS      := 9
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The same source and Go version give the same bytes, wherever it is built. lambda.norpc leaves
# out a protocol that Lambda no longer speaks, and its share of a cold start.
FUNCTION_BUILD := GOOS=linux GOAMD64=v1 GOARM64=v8.0 go build -tags lambda.norpc -ldflags '-s -w -buildid='

.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:
# The command line of the CDK asks nobody about itself.
export CDK_DISABLE_CLI_TELEMETRY := true
export CDK_DISABLE_VERSION_CHECK := 1
# git refuses to say which commit a checkout of another user is of, which would fail every
# build. Only the command line tells it, where git does.
COMMIT := git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null
# Tests and binaries share what is built, because they are built alike.
export GOFLAGS := $(filter-out -buildvcs=false -trimpath,$(GOFLAGS)) -buildvcs=false -trimpath
export CGO_ENABLED := 0

.PHONY: help run test test-bench test-all test-race test-storms test-long test-infra build functions cli release image lint bench fuzz mutate invoke bootstrap synth deploy destroy check-extra console check-console clean need-cdk need-npm need-staticcheck need-engine need-browser

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# need.THINGS checks all things that a target needs, such as need.go.java, before anything else.
need.%:
	@sh internal/test/browser/need.sh $(subst ., ,$*)

run: need.go.java.node cli ## run the whole system on this machine: make run ARGS="--addr 127.0.0.1:9000"
	@bin/hotshard local $(ARGS)

# One engine serves all test processes. More tests run at a time than there are processors,
# since they wait for the engine and for folds: twelve, three of each of four packages. With more
# of them calls time out on two processors. If no browser works, the tests that need one are left
# out; the first and the last line say so. make lint runs go vet.
WITH_ENGINE := .cache/withengine
PARALLEL    := -p 4 -parallel 3 -vet=off

test: need.go.java.node.git.curl.browser $(WITH_ENGINE) ## run the tests: every kind of promise, against DynamoDB Local
	@$(WITH_ENGINE) -browser $(MAKE) --no-print-directory test-all

test-bench: need.go.java need-engine ## run bench's tests, which are part of test-long
	$(WITH_ENGINE) go -C $(BENCH) test $(PARALLEL) -timeout 15m $(TESTFLAGS) ./...

test-all:
	go test $(PARALLEL) -timeout 15m $(TESTFLAGS) ./...
	@sh examples/throttled/missing.sh

# The race detector has something to find in packages that start goroutines or lock.
test-race: need.go.cc ## run the concurrent code's tests that need no engine with the race detector
	@CGO_ENABLED=1 go test -race -short -vet=off $(TESTFLAGS) $$(grep -rlE --include='*.go' --exclude='*_test.go' '"sync|/errgroup"|\bgo func|\.Go\(' $(SOURCES) | \
		xargs -n 1 dirname | sort -u | sed 's,^,./,')

# A storm's figures depend on the whole machine, so these run one at a time.
test-storms: need.go.java.node.git need-engine ## run the demo's tests and other storms, one at a time
	$(WITH_ENGINE) go test -p 1 -parallel 1 -count=1 -timeout 15m -tags storm -run 'Demo|Storm' $(TESTFLAGS) ./cmd/hotshard

# What takes longer: all tests with the race detector, more seeds and the tests with the build
# tag long; the CDK app's, whose runtime for Go has races of its own, in closing.
test-long: need.go.java.node.git.curl.cc need-engine need-browser ## run all tests with the race detector and many seeds, the CDK app's too
	CGO_ENABLED=1 $(WITH_ENGINE) go test -race -tags long -p 2 -timeout 40m $(TESTFLAGS) ./...
	CGO_ENABLED=1 $(WITH_ENGINE) go -C $(BENCH) test -race -tags long -p 2 -timeout 40m $(TESTFLAGS) ./...
	$(MAKE) --no-print-directory test-storms test-infra

test-infra: need.go.node ## run the CDK app's tests, which are part of test-long
	go -C $(INFRA) test -timeout 30m $(TESTFLAGS) ./...

build: functions cli ## build dist/<function>/bootstrap (arm64; amd64 below dist/amd64) and bin/hotshard, one static file

# What is deployed is arm64, so that has the short path; DIST and ARCHS may be set.
functions: need.go
	@for arch in $(ARCHS); do for f in $(FUNCTIONS); do \
		case $$arch in arm64) out=$(DIST)/$$f ;; *) out=$(DIST)/$$arch/$$f ;; esac; \
		mkdir -p "$$out" && \
		GOARCH=$$arch $(FUNCTION_BUILD) -o "$$out/bootstrap" ./functions/$$f && \
		chmod 755 "$$out/bootstrap" && echo "$$out/bootstrap" || exit 1; \
	done; done

# The command line is one static file. Its page, the console, is in it, as built from
# internal/tool/console/web and committed.
CLI_BUILD = GOAMD64=v1 GOARM64=v8.0 go build -ldflags "-s -w -buildid= -X main.commit=$$($(COMMIT)) -X main.release=$(VERSION)"

cli: need.go
	@echo "building bin/hotshard, which takes a minute or two the first time" >&2
	@$(CLI_BUILD) -o bin/hotshard ./cmd/hotshard

RELEASE  := $(DIST)/release
SYSTEMS  := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
MAX_SIZE := 35000000

release: need.go ## build the command line for linux and macOS, amd64 and arm64: dist/release, with checksums
	@mkdir -p $(RELEASE) && rm -f $(RELEASE)/*
	@for s in $(SYSTEMS); do \
		GOOS=$${s%-*} GOARCH=$${s#*-} $(CLI_BUILD) -o $(RELEASE)/hotshard-$$s ./cmd/hotshard || exit 1; \
		size=$$(wc -c < $(RELEASE)/hotshard-$$s); echo "$(RELEASE)/hotshard-$$s $$size bytes"; \
		test $$size -le $(MAX_SIZE) || { echo "$$s: more than $(MAX_SIZE) bytes" >&2; exit 1; }; \
	done
	@cd $(RELEASE) && sha256sum hotshard-* > SHA256SUMS

BUILDER := $(shell command -v docker || command -v buildah)
CERTS   := /etc/ssl/certs/ca-certificates.crt

image: release ## build the container image hotshard for linux/amd64, without Java: docker or buildah
	@test -n "$(BUILDER)" || { echo "neither docker nor buildah was found: install one (https://docs.docker.com/engine/install)" >&2; exit 1; }
	@test -f $(CERTS) || { echo "$(CERTS) was not found: install ca-certificates" >&2; exit 1; }
	@mkdir -p $(DIST)/image && cp $(CERTS) $(DIST)/image/
	$(BUILDER) build -t hotshard -f Dockerfile .

lint: need.go.git ## check the form of the code: gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $(SOURCES) $(BENCH) $$(find $(INFRA) -name node_modules -prune -o -name '*.go' -print)) && test -z "$$unformatted" || \
		{ echo "not formatted, run gofmt -w on:" $$unformatted >&2; exit 1; }
	go vet -tags long,storm ./...
	go run $(STATICCHECK) -tags long,storm ./...
	go -C $(BENCH) vet -tags long ./...
	go -C $(BENCH) run $(STATICCHECK) -tags long ./...
	go -C $(INFRA) vet -tags extra ./...
	go -C $(INFRA) run $(STATICCHECK) -tags extra ./...

bench: need.go ## run every benchmark, and compare the decoder with other libraries
	go test -run '^$$' -bench . -benchmem ./...
	go -C $(BENCH) run . decoding -rounds $(ROUNDS)

fuzz: need.go ## run every fuzz target for FUZZTIME (30s)
	@for file in $$(grep -rl --include='*_test.go' '^func Fuzz' $(SOURCES)); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			echo "$$target in $$(dirname "$$file")"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s "./$$(dirname "$$file")" || exit 1; \
		done; \
	done

mutate: need.go $(WITH_ENGINE) ## list the small faults in a package that its quick tests don't notice: make mutate PKG=./pkg/shard/limits
	@$(WITH_ENGINE) go run ./internal/test/mutate -n $(FAULTS) -seed $(SEED) $(PKG)

invoke: need.go ## hand a function an event: make invoke FN=query EVENT=events/api-health.json
	@test -n "$(FN)" && test -n "$(EVENT)" || { echo "say which: make invoke FN=query EVENT=events/api-health.json" >&2; exit 2; }
	@go build -tags lambda.norpc -o .cache/functions/$(FN)/bootstrap ./functions/$(FN)
	@go build -o .cache/invoke ./internal/aws/runtimeapi/invoke
	@.cache/invoke .cache/functions/$(FN)/bootstrap "$(EVENT)"

# What is deployed: the functions as built for arm64, and the CDK's own command line.
need-cdk: need.go.node need-npm
	@$(MAKE) --no-print-directory functions ARCHS=arm64 DIST=dist >/dev/null

# The CDK makes the stack for that, too, to see where it goes.
bootstrap: need-cdk ## prepare the AWS account and Region for the CDK, once for each
	cd $(INFRA) && $(CDK) bootstrap $(CONTEXT) $(ARGS)

synth: need-cdk ## make the CloudFormation template, offline: infra/cdk.out
	cd $(INFRA) && $(CDK) synth --quiet $(CONTEXT)
	@ls $(INFRA)/cdk.out/*.template.json

# Tables are created without deletion protection, so that a failed first deployment leaves none
# behind. The second command turns it on, and does nothing in later deployments.
deploy: need-cdk ## deploy to the AWS account and Region of the environment: make deploy CONTEXT="-c email=ops@example.com"
	cd $(INFRA) && $(CDK) deploy --require-approval $(APPROVAL) $(CONTEXT) $(ARGS)
	cd $(INFRA) && $(CDK) deploy --require-approval never --parameters DeletionProtection=true $(CONTEXT) $(ARGS)

destroy: need-cdk ## delete the deployment; tables stay, unless it was told otherwise
	cd $(INFRA) && $(CDK) destroy $(CONTEXT) $(ARGS)

$(INFRA)/node_modules/.package-lock.json: $(INFRA)/package-lock.json
	@npm ci --prefix $(INFRA) --no-audit --no-fund --omit=optional --loglevel=error
	@touch $@

# What npm makes of the lock file is kept as long as that is.
$(CONSOLE)/web/node_modules/.package-lock.json: $(CONSOLE)/web/package-lock.json
	@npm ci --prefix $(CONSOLE)/web --no-audit --no-fund --loglevel=error
	@touch $@

# The types of what the pages read come from Go.
CONSOLE_SCHEMA := $(CURDIR)/.cache/console-types.json
CONSOLE_TYPES := mkdir -p .cache && go test -count=1 ./$(CONSOLE) -run '^TestPageTypes$$' -schema $(CONSOLE_SCHEMA) >&2 && $(CONSOLE)/web/node_modules/.bin/json2ts --additionalProperties=false --bannerComment '// Made by make console from the Go types. Change those.' <$(CONSOLE_SCHEMA)

console: need.go.node $(CONSOLE)/web/node_modules/.package-lock.json ## make the console's page from its source: internal/tool/console/dist, which is committed
	{ $(CONSOLE_TYPES); } > $(CONSOLE)/web/src/types.ts.new && mv $(CONSOLE)/web/src/types.ts.new $(CONSOLE)/web/src/types.ts
	cd $(CONSOLE)/web && node_modules/.bin/tsc
	cd $(CONSOLE)/web && node build.mjs
	@cp $(CONSOLE)/web/node_modules/axe-core/axe.min.js $(CONSOLE)/testdata/axe.min.js

check-console: need.go.node $(CONSOLE)/web/node_modules/.package-lock.json ## check that the committed page is what its source gives
	@{ $(CONSOLE_TYPES); } | diff - $(CONSOLE)/web/src/types.ts >&2 || \
		{ echo "$(CONSOLE)/web/src/types.ts is not what the Go types give: run make console and commit it" >&2; exit 1; }
	cd $(CONSOLE)/web && node_modules/.bin/tsc
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && (cd $(CONSOLE)/web && node build.mjs "$$made") && \
		diff -rq "$$made" $(CONSOLE)/dist && cmp $(CONSOLE)/web/node_modules/axe-core/axe.min.js $(CONSOLE)/testdata/axe.min.js || \
		{ echo "internal/tool/console/dist is not what internal/tool/console/web gives: run make console and commit it" >&2; exit 1; }

check-extra: need-cdk ## check the templates with the CDK's validator, and with cfn-lint, where it is installed
	go -C $(INFRA) test -count=1 -tags extra -v -run Extra .
	@command -v cfn-lint >/dev/null || echo "NOT LINTED: cfn-lint was not found, so the templates were not checked with it: pip install cfn-lint" >&2

clean: ## delete what was built; the fetched engine stays
	rm -rf dist bin $(INFRA)/cdk.out .cache/functions .cache/withengine .cache/invoke

# The targets below fetch what others need, for those who want to fetch everything first.
need-npm: need.node $(INFRA)/node_modules/.package-lock.json $(CONSOLE)/web/node_modules/.package-lock.json

need-staticcheck: need.go
	@go run $(STATICCHECK) -version

need-engine: need.go.java.node $(WITH_ENGINE)
	@$(WITH_ENGINE)

need-browser: need.go $(WITH_ENGINE)
	@$(WITH_ENGINE) -browser

.PHONY: $(WITH_ENGINE)
$(WITH_ENGINE):
	@go build -o $@ ./internal/test/withengine
