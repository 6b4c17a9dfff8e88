# Headgate. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

LINT := $(CURDIR)/bin/tools/golangci-lint
RATELIMIT := $(CURDIR)/bin/tools/ratelimit
# Runs, not seconds: the end of a time can itself be reported as a failure (golang/go#75804).
FUZZTIME ?= 5000x
# What the coverage is asked of: the packages where a mistake would let too much through.
COVERED := engine engine/algo memstore server/service server/resp

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: ## bin/headgate, static, without the tables that debuggers read
	cd server && CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o ../bin/headgate ./cmd/headgate

.PHONY: run
run: build ## the server, in memory
	bin/headgate serve

.PHONY: setup
setup: ## install what a bare Debian machine lacks (gcc, Redis, Valkey, node, chromium, Python's redis)
	@./scripts/setup

.PHONY: check
check: $(LINT) ## the quick look before a commit: format, vet, lint of what changed, fast tests; under 30 s once warm
	@./scripts/check

.PHONY: test
test: setup ## the tests of a change, step by step, in about ten minutes
	@scripts/test

.PHONY: test-full
test-full: setup $(LINT) ## what make test leaves out, in 35 CPU minutes once builds are cached: other deployments and more; and the long ones, in 30 to 46 more: all fuzz targets and planted mistakes; PARTS=10 runs one step of ten, drawn by the tree
	@scripts/test-full $(PARTS)

.PHONY: test-long
test-long: ## the longest: 10^6 differential steps an algorithm (and on Redis), 10^5 interleavings, 5 minutes a fuzz target, an hour of chaos
	@cd conform && go test -timeout 1h -run TestDifferential ./steps -steps=1000000
	@cd conform && go test -timeout 1h -run TestVersions ./steps ./lua -interleavings=100000
	@cd conform && go test -timeout 3h -parallel 2 -every-client -deployments all -run TestScripts ./lua -redis-steps=1000000
	@$(MAKE) --no-print-directory fuzz FUZZTIME=5m
	@$(MAKE) --no-print-directory soak

.PHONY: test-servers
test-servers: ## the stores' cases on the servers in the folders of HEADGATE_SERVERS (scripts/newer-servers FOLDER makes one)
	@scripts/test-servers

.PHONY: chaos
chaos: ## 8 seeds of faults on real servers, with an audit of every answer (ten minutes)
	@cd conform && go test ./chaos -run 'TestChaos$$' -v -count=1 -timeout 30m -seeds 8 -for 55s

.PHONY: chaos-full
chaos-full: ## 100 seeds; those with a result in bin/chaos.jsonl do not run again
	@mkdir -p bin
	@cd conform && go test ./chaos -run 'TestChaos$$' -v -count=1 -timeout 5h -seeds 100 -for 60s -results $(CURDIR)/bin/chaos.jsonl

.PHONY: soak
soak: ## one seed of faults for an hour: what processes hold stays bounded, and every answer is audited
	@cd conform && go test ./chaos -run 'TestChaos$$' -v -count=1 -timeout 2h -seeds 1 -deployment standalone -for 1h

.PHONY: upgrade
upgrade: ## a rolling upgrade from the build of PREVIOUS (a commit or tag), on one Redis under load
	@./scripts/upgrade $(PREVIOUS)

.PHONY: release
release: ## the files of a release, from the last commit into bin/release: make release VERSION=v0.9.0 KEY=FILE; without KEY it is not signed
	@cd tools/release && GOWORK=off go run . -version "$(VERSION)" -out "$(abspath $(or $(OUT),bin/release))" \
	  -key "$(if $(KEY),$(abspath $(KEY)))" -key-password-file "$(if $(KEY_PASSWORD_FILE),$(abspath $(KEY_PASSWORD_FILE)))"

.PHONY: release-test
release-test: ## make a release twice, compare the files, and install, start and verify them (five minutes)
	@scripts/release-test

.PHONY: hops
hops: ## how many files one decision runs through, by coverage
	@./scripts/hops

.PHONY: lint
lint: $(LINT) ## golangci-lint and gofumpt over all modules
	@scripts/lint

$(LINT): tools/go.mod
	cd tools && GOWORK=off go build -o ../bin/tools/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The rate limit service that Headgate is compared with. It has a module of its own: its
# requirements would lower the linters' versions, or they would raise its.
$(RATELIMIT): tools/ratelimit/go.mod
	cd tools/ratelimit && GOWORK=off go build -o $@ github.com/envoyproxy/ratelimit/src/service_cmd

.PHONY: dashboard
dashboard: ## build the page for operators from dashboard/web into dashboard/dist
	@./scripts/dashboard build

.PHONY: dashboard-check
dashboard-check: ## does dashboard/dist have what dashboard/web builds
	@./scripts/dashboard check

.PHONY: dashboard-pictures
dashboard-pictures: ## the pictures of docs/images, by the test of the page (two minutes)
	@mkdir -p docs/images && cd conform && go test ./browser -count=1 -args -screenshots $(CURDIR)/docs/images

.PHONY: site
site: ## the documentation site from docs/, into bin/site/main; with VERSION=v0.9.0 into a folder of that name
	@VERSION="$(VERSION)" scripts/site

.PHONY: vuln
vuln: ## govulncheck, where its database can be reached
	@cd tools && GOWORK=off go build -o ../bin/tools/ golang.org/x/vuln/cmd/govulncheck
	@for m in $$(scripts/modules); do (cd "$${m%...}" && $(CURDIR)/bin/tools/govulncheck ./...) || echo "govulncheck: skipped or failed in $$m (its database may be out of reach)"; done

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (5000 runs)
	@scripts/fuzz $(FUZZTIME)

.PHONY: mutants-check
mutants-check: ## has each planted mistake still its place in the code: a second or two, no suite runs
	@cd tools && GOWORK=off go test -count=1 ./mutants ./house ./api

.PHONY: mutants
mutants: mutants-check ## plant all mistakes, one at a time: a test must catch each
	@cd tools && GOWORK=off go run ./mutants -record

.PHONY: bench
bench: build $(RATELIMIT) ## Headgate beside others, in turns, into docs/benchmarks.md (half an hour)
	cd bench && go run . -out ../docs/benchmarks.md

.PHONY: bench-pairs
bench-pairs: ## CPU time of each kind of decision beside an earlier commit: make bench-pairs BEFORE=COMMIT (six minutes)
	@scripts/bench-pairs $(BEFORE) -only '$(ONLY)'

.PHONY: bench-quick
bench-quick: build $(RATELIMIT) ## the same in two minutes, printed
	cd bench && go run . -length quick

.PHONY: bench-full
bench-full: build $(RATELIMIT) ## the same for longer, and with ten million keys, printed
	cd bench && go run . -length full

.PHONY: profile
profile: ## a CPU profile and a flame graph of each of our rows, in bin/profile
	cd bench && go run . -length quick -profile ../bin/profile

.PHONY: bench-redis
bench-redis: ## operations a second of one Redis core, and bytes a key, by algorithm
	cd conform && go test -run '^$$' -bench BenchmarkRedis -benchtime 1s ./lua

.PHONY: simulate
simulate: ## limits under load in virtual time, beside those of others, into bin/simulate.html (a minute)
	@mkdir -p bin && cd replay && go run ./overload/cmd/overload -out ../bin/simulate.html

.PHONY: simulate-full
simulate-full: ## the same with 20 seeds and a finer search for the best fixed limits (half an hour)
	@mkdir -p bin && cd replay && go run ./overload/cmd/overload -full -out ../bin/simulate.html

.PHONY: simulate-real
simulate-real: ## is the goodput of a real server over the loopback within 10 % of the simulated one (a minute, on a quiet machine)
	@cd replay && go test ./overload/loopback -count=1 -v -run TestGoodputAsSimulated -real

.PHONY: cover
cover: ## coverage of the rooms that decide, by the tests nearest to them
	@./scripts/cover $(COVERED)
