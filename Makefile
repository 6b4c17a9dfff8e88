# Headgate. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

LINT := $(CURDIR)/bin/tools/golangci-lint
RATELIMIT := $(CURDIR)/bin/tools/ratelimit
# A number of runs, not seconds: Go's fuzzer can report the end of a time limit as a failure (golang/go#75804).
FUZZTIME ?= 5000x
# The packages whose coverage is checked: a mistake in them would let too much through.
COVERED := engine engine/algo memstore server/internal/service server/internal/resp

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: ## build bin/headgate: static, without debug information
	cd server && CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o ../bin/headgate ./cmd/headgate

.PHONY: run
run: build ## run the server, in memory
	bin/headgate serve

.PHONY: setup
setup: ## install what a bare Debian machine lacks (gcc, Redis, Valkey, node, chromium, Python's redis)
	@./tools/scripts/setup

.PHONY: check
check: $(LINT) ## the quick check before a commit: format, vet, lint of changed code, fast tests; under 30 s with a warm cache
	@./tools/scripts/check

.PHONY: test
test: setup ## the tests for a change, step by step, in 13 minutes on two slow processors
	@tools/scripts/test

.PHONY: test-full
test-full: setup $(LINT) ## the tests that make test omits, in 35 CPU minutes once builds are cached: other deployments and more; and the long ones, in 30 to 46 more: all fuzz targets and planted mistakes; PARTS=10 runs one step of ten, chosen by a hash of the tree
	@tools/scripts/test-full $(PARTS)

.PHONY: test-long
test-long: ## the longest tests: 10^6 differential steps per algorithm (and on Redis), 10^5 interleavings, 5 minutes per fuzz target, an hour of chaos
	@cd lab && go test -timeout 1h -run TestDifferential ./steps -steps=1000000
	@cd lab && go test -timeout 1h -run TestVersions ./steps ./lua -interleavings=100000
	@cd lab && go test -timeout 3h -parallel 2 -every-client -deployments all -run TestScripts ./lua -redis-steps=1000000
	@$(MAKE) --no-print-directory fuzz FUZZTIME=5m
	@$(MAKE) --no-print-directory soak

.PHONY: test-servers
test-servers: ## the stores' cases on the servers in the folders named by HEADGATE_SERVERS (tools/scripts/newer-servers FOLDER makes one)
	@tools/scripts/test-servers

.PHONY: chaos
chaos: ## ten seeds of faults on real servers, with an audit of every answer (eleven minutes)
	@cd lab && go test ./chaos -run 'TestChaos$$' -v -count=1 -timeout 30m -seeds 10 -for 55s

.PHONY: chaos-full
chaos-full: ## 100 seeds; seeds with a result in bin/chaos.jsonl do not run again
	@mkdir -p bin
	@cd lab && go test ./chaos -run 'TestChaos$$' -v -count=1 -timeout 5h -seeds 100 -for 60s -results $(CURDIR)/bin/chaos.jsonl

.PHONY: soak
soak: ## one seed of faults for an hour: the processes' memory, goroutines and files stay bounded, and every answer is audited
	@cd lab && go test ./chaos -run 'TestChaos$$' -v -count=1 -timeout 2h -seeds 1 -deployment standalone -for 1h

.PHONY: upgrade
upgrade: ## a rolling upgrade from the build of PREVIOUS (a commit or tag), on one Redis under load
	@./tools/scripts/upgrade $(PREVIOUS)

.PHONY: release
release: ## make the release files from the last commit, into bin/release: make release VERSION=v0.9.0 KEY=FILE; without KEY they are not signed
	@cd tools/release && GOWORK=off go run . -version "$(VERSION)" -out "$(abspath $(or $(OUT),bin/release))" \
	  -key "$(if $(KEY),$(abspath $(KEY)))" -key-password-file "$(if $(KEY_PASSWORD_FILE),$(abspath $(KEY_PASSWORD_FILE)))"

.PHONY: release-test
release-test: ## make a release twice, compare the files, and install, start and verify them (five minutes)
	@tools/scripts/release-test

.PHONY: lint
lint: $(LINT) ## golangci-lint and gofumpt over all modules
	@tools/scripts/lint

$(LINT): tools/go.mod
	cd tools && GOWORK=off go build -o ../bin/tools/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The rate limit service that Headgate is compared with. It has a separate module, because its
# requirements would lower the linters' versions, or the linters would raise its versions.
$(RATELIMIT): tools/ratelimit/go.mod
	cd tools/ratelimit && GOWORK=off go build -o $@ github.com/envoyproxy/ratelimit/src/service_cmd

.PHONY: page
page: ## build the page for operators from server/internal/page/web into its dist
	@./tools/scripts/page build

.PHONY: page-check
page-check: ## check that the committed page matches the build of its sources
	@./tools/scripts/page check

.PHONY: page-pictures
page-pictures: ## make the pictures in docs/images with the page's test (two minutes)
	@fc-list :lang=zh | grep -q . || { echo "please install a Chinese font, such as fonts-wqy-microhei" >&2; exit 1; }
	@mkdir -p docs/images && cd lab && go test ./browser -count=1 -args -screenshots $(CURDIR)/docs/images

.PHONY: site
site: ## build the documentation site from docs/ into bin/site/main; with VERSION=v0.9.0 into a folder of that name
	@VERSION="$(VERSION)" tools/scripts/site

.PHONY: vuln
vuln: ## govulncheck, if its database can be reached
	@cd tools && GOWORK=off go build -o ../bin/tools/ golang.org/x/vuln/cmd/govulncheck
	@for m in $$(tools/scripts/modules); do (cd "$${m%...}" && $(CURDIR)/bin/tools/govulncheck ./...) || echo "govulncheck: skipped or failed in $$m (its database may be out of reach)"; done

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (5000 runs)
	@tools/scripts/fuzz $(FUZZTIME)

.PHONY: mutants-check
mutants-check: ## check that each planted mistake still has its place in the code; a second or two, without running a suite
	@cd lab && go test -count=1 ./mutants
	@cd tools && GOWORK=off go test -count=1 ./house

.PHONY: mutants
mutants: mutants-check ## plant all mistakes, one at a time; a test must catch each
	@cd lab && go run ./mutants -record

.PHONY: bench
bench: build $(RATELIMIT) ## compare Headgate with other limiters, in turns, into bin/bench.md (half an hour)
	cd lab/bench && go run . -out ../../bin/bench.md

.PHONY: bench-pairs
bench-pairs: ## compare the CPU time of each kind of decision with an earlier commit: make bench-pairs BEFORE=COMMIT (six minutes)
	@tools/scripts/bench-pairs $(BEFORE) -only '$(ONLY)'

.PHONY: bench-quick
bench-quick: build $(RATELIMIT) ## the same comparison in two minutes, printed
	cd lab/bench && go run . -length quick

.PHONY: bench-full
bench-full: build $(RATELIMIT) ## the same comparison, longer and with ten million keys, printed
	cd lab/bench && go run . -length full

.PHONY: profile
profile: ## a CPU profile of each of our rows, in bin/profile
	cd lab/bench && go run . -length quick -profile ../../bin/profile

.PHONY: bench-redis
bench-redis: ## operations per second on one Redis core, and bytes per key, by algorithm
	cd lab && go test -run '^$$' -bench BenchmarkRedis -benchtime 1s ./lua

.PHONY: simulate
simulate: ## compare limits with other limiters under load in virtual time, and print goodput and latency (a minute)
	@cd lab && go run ./simulator

.PHONY: cover
cover: ## coverage of the packages that decide, by the tests nearest to them
	@./tools/scripts/cover $(COVERED)
