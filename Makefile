# rmd: every target has a line of help; `make` prints them.
GO      ?= go
BIN     := bin/rmd
CHAOS   := bin/rmd-chaos
# The version of this tree, and the newest release before it as VERSION COMMIT; see the file.
VERSIONS := internal/release/versions.txt
VERSION := $(shell awk '!/^\#/ { print $$1; exit }' $(VERSIONS))
RELEASED := $(shell awk '!/^\#/ && NF == 2 { print; exit }' $(VERSIONS))
COMMIT = $(shell git describe --always --dirty --exclude '*' 2>/dev/null)
PKGS    := ./...
# Tests of whole clusters wait more than they compute: they start first, some run side by side, and another
# package has the cores meanwhile. What go test would vet, lint does.
GOTEST  := $(GO) test -p 4 -vet=off
SLOWEST := ./cmd/rmd ./cmd/rmd/internal/command ./cluster ./cmd/rmd/internal/replay ./scheduler/planner ./transport/http
# Every package of a replica and its clients whose code or tests are concurrent.
CONCURRENT = $(addprefix ./,$(sort $(dir $(shell grep -rlE --include='*.go' '^[[:space:]]*go [a-z]|\.Go.|"sync|"testing/synctest"|\bchan |t\.Parallel|RunParallel|httptest\.NewServer' \
  analysis client cluster cmd config fsm leader server transport workload))))

.DEFAULT_GOAL := help
.PHONY: help setup build dev test check lint race fuzz fuzz-ports bench bench-once bench-failover bench-cluster bench-growth bench-limits bench-machines bench-peers preemption forecasts nodes gangs longrun failover interop matrix hadoop-tests guides browser attack chaos chaos-smoke chaos-upgrade chaos-sum sim sim-queues sim-sum logsim mutants mutate golden proto descriptors twin twin-preempt twin-placement version packages release released clean

help: ## print this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

setup: ## download the pinned modules, and what the browser and interop tests need where it can be had
	$(GO) mod download
	command -v chromium >/dev/null || { apt-get update -q && apt-get install -qy chromium; } || echo "no chromium: the browser tests will not run"
	command -v kinit >/dev/null || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy krb5-kdc krb5-admin-server krb5-user; } || echo "no MIT Kerberos: the tests behind Kerberos will not run"
	command -v mvn >/dev/null && interop/fetch && interop/fetch native && RMD_INTEROP_HADOOP=2.10.2 interop/fetch && RMD_INTEROP_HADOOP=3.5.0 interop/fetch || echo "no Maven: the interop tests will not run"

build: ## build bin/rmd and bin/rmd-chaos
	$(GO) build -o $(BIN) ./cmd/rmd
	$(GO) build -o $(CHAOS) ./cmd/rmd-chaos

dev: ## build bin/rmd alone, and run a whole cluster with it
	$(GO) build -o $(BIN) ./cmd/rmd
	./$(BIN) dev

# The compiler takes half of the time. It and the tests collect garbage seldom while memory is left.
test: export GOGC ?= 1600
test: export GOMEMLIMIT ?= 3GiB
test: ## run the tests (under 10 minutes)
	$(GOTEST) -parallel 6 -timeout 10m $(SLOWEST) $(PKGS)

check: lint test ## lint and test: what CI runs

lint: ## vet, staticcheck and the house's own rules
	$(GO) vet $(PKGS)
	$(GO) tool staticcheck $(PKGS)
	$(GOTEST) -parallel 4 -timeout 10m ./internal/tidy

# The tests left out start processes or commands one after the other, only to see them refuse or finish, or play traces in
# one goroutine: test runs them.
race: ## run the tests of everything concurrent under the race detector
	GORACE=atexit_sleep_ms=0 $(GOTEST) -race -parallel 2 -timeout 20m -skip '^(TestDemo|TestDamage|TestRefusals|TestEveryCommandFindsTheCluster|TestCompare(Nodes|Preemption)|TestMeasure.*|TestGuaranteesComeBack|TestSimulateDay)$$' ./cmd/rmd ./cluster $(CONCURRENT)

FUZZTIME ?= 20s
fuzz: ## run every fuzz target for FUZZTIME
	@for p in $$($(GO) list $(PKGS)); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$p || exit 1; \
	  done; done

bench: ## decision, commit, fork and snapshot benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./scheduler/planner ./fsm/... ./snapshot ./leader ./cluster ./cmd/rmd/...

LARGEST = BenchmarkGrowth|BenchmarkPlanGrowth|BenchmarkViewers|BenchmarkReplicas|BenchmarkPage/apps=1000000|BenchmarkReconnect/.*/nodes=10000
bench-once: ## run every benchmark once, but for the largest: each must still run
	$(GO) test -run '^$$' -bench . -benchtime 1x -skip '$(LARGEST)' -timeout 30m $(PKGS)

KILLS ?= 50
failover: ## kill -9 the leader of a real cluster KILLS times with reservations held, as often while a container is warned, and freeze it as often
	RMD_KILLS=$(KILLS) $(GO) test -count=1 -v -timeout 90m -run 'TestKillLeader|TestFreezeLeader' ./cmd/rmd

bench-failover: build ## the same, and as real AMs feel it (needs a JDK 17 and Maven), with the figures printed
	RMD_KILLS=$(KILLS) RMD_BENCH=1 $(GO) test -count=1 -v -timeout 60m -run 'TestKillLeader|TestFreezeLeader' ./cmd/rmd
	RMD_INTEROP_KILLS=20 RMD_BENCH=1 $(GO) test -tags interop -count=1 -v -timeout 60m -run 'TestFailover|TestAskLatency' ./interop

bench-cluster: ## three replicas in processes of their own, loaded at the leader and through the public wire
	$(GO) test -run '^$$' -bench 'BenchmarkDecisionsApart' -benchtime 5s -timeout 30m ./cmd/rmd/internal/local
	$(GO) test -run '^$$' -bench 'BenchmarkCluster' -benchtime 5s -timeout 30m ./cmd/rmd

longrun: ## full rate for DURATION each: a follower away and back; four times too much; hogs and a follower that stalls
	RMD_LONG=$(DURATION) $(GO) test -count=1 -v -timeout 24h -run 'TestSustained|TestPressure|TestNoNeedlessElection' ./cmd/rmd

# Recorded traces are not part of this repository. What is not in TRACES is skipped by name.
TRACES ?= ../shared/traces
recorded = $(if $(wildcard $(TRACES)/$(firstword $(2))),$(1) $(TRACES)/$(2),@echo 'SKIPPED: $(TRACES)/$(firstword $(2)): docs/operations/replay.md says where to get it')
COMPARE := $(BIN) replay --compare preemption
FORECAST := $(BIN) replay --compare forecasts
forecasts: build ## how well starts are forecast on traces with deep lines, generated and recorded: TRACES=directory of openb, swim and sls
	$(foreach t,google-like philly-like,$(foreach s,1 2 3,$(FORECAST) $(t) --seed $(s) && )) $(FORECAST) demo
	$(call recorded,$(FORECAST),openb/openb_pod_list_default.csv --nodes 40 --load 100 --limit 1500)
	$(call recorded,$(FORECAST),openb/openb_pod_list_default.csv --nodes 20 --load 50 --limit 1500)
	$(call recorded,$(FORECAST),swim/FB-2009_samples_24_times_1hr_0.tsv --nodes 1 --limit 600)
	$(call recorded,$(FORECAST),swim/FB-2009_samples_24_times_1hr_0.tsv --nodes 1 --limit 2500)
	$(call recorded,$(FORECAST),sls/2jobs2min-rumen-jh.json --load 3)

NODES := $(BIN) replay --compare nodes
nodes: build ## what each rule that chooses nodes gives on traces made tight, and on one of equal small tasks: TRACES=directory of openb, swim and sls
	$(NODES) demo --copies 20
	$(call recorded,$(NODES),openb/openb_pod_list_default.csv --nodes 40 --load 100 --limit 1500 --copies 4)
	$(call recorded,$(NODES),openb/openb_pod_list_cpu050.csv --nodes 30 --load 100 --limit 1500 --copies 2)
	$(call recorded,$(NODES),openb/openb_pod_list_gpuspec33.csv --nodes 20 --load 100 --limit 1500 --copies 2)
	$(call recorded,$(NODES),swim/FB-2009_samples_24_times_1hr_0.tsv --nodes 4)
	$(call recorded,$(NODES),swim/FB-2009_samples_24_times_1hr_1.tsv --nodes 4)
	$(call recorded,$(NODES),swim/FB-2010_samples_24_times_1hr_0.tsv --nodes 20 --limit 600 --copies 6)
	$(call recorded,$(NODES),sls/2jobs2min-rumen-jh.json --load 3 --copies 4)
	$(NODES) workload/trace/testdata/equal-tasks.json

OWED := old-borrowers day-old wide-short google-like philly-like
preemption: build ## what preemption costs and gives on traces made tight and on generated ones, by selector: TRACES=directory of openb, swim and sls
	$(COMPARE) demo --nodes 3
	$(call recorded,$(COMPARE),openb/openb_pod_list_default.csv --nodes 40 --load 100)
	$(call recorded,$(COMPARE),swim/FB-2009_samples_24_times_1hr_0.tsv --nodes 1)
	$(call recorded,$(COMPARE),sls/2jobs2min-rumen-jh.json --load 3)
	for t in $(OWED); do for s in 1 2 3; do $(COMPARE) workload/trace/owed/$$t.json --seed $$s || exit 1; done; done

PAIRS ?= 1000000
gangs: ## play PAIRS random pairs of gangs to their ends, and four days of jobs as gangs and one container after the other
	RMD_GANG_PAIRS=$(PAIRS) RMD_GANG_HOURS=24 RMD_GANG_DAYS=4 $(GO) test -count=1 -v -timeout 120m -run '^TestGang(Pairs|IdleMemory)$$' ./scheduler/planner

bench-peers: build ## rmd beside the Java ResourceManager on this machine, as ratios (needs a JDK 17 and Maven): HADOOP=3.5.0 for another version, ASYNC=false or true for how it schedules
	RMD_INTEROP_HADOOP=$(HADOOP) RMD_BENCH_ASYNC=$(ASYNC) $(GO) test -tags interop -count=1 -v -timeout 60m -run TestPeers ./bench

ROUNDS ?= 3
bench-limits: ## rmd beside what the disk, the kernel and the memory allow, as ratios, each pair by turns: ROUNDS=3 ONLY=commit for a part
	$(GO) run ./bench/limits -rounds $(ROUNDS) -only '$(ONLY)'

bench-growth: ## what larger states and clusters cost, by size, with plots in out/growth.html: ONLY=nodes for a part
	mkdir -p out
	$(GO) run ./bench/growth -only '$(ONLY)' -report out/growth.html

MACHINES ?=
bench-machines: ## what clusters would carry on machines that nobody has measured, by simulation: MACHINES='-replicas 3,5 -cores 32 -sync 50us'; MACHINES=-h for all costs
	$(GO) run ./bench/machines $(MACHINES)

WINDOW ?= 3s
attack: ## hostile inputs at every port of three replicas, beside honest callers; each table goes on for WINDOW at least; PORT=REST for one
	RMD_ATTACK=$(WINDOW) RMD_ATTACK_PORT='$(PORT)' $(GO) test -count=1 -v -timeout 30m -run '^TestAttack$$' ./cmd/rmd

MESSAGES ?= 1000000
fuzz-ports: ## random MESSAGES at YARN's four ports behind Kerberos, before and after the handshake
	RMD_FUZZ_MESSAGES=$(MESSAGES) $(GO) test -count=1 -v -timeout 24h -run '^TestFuzzPorts$$' ./cmd/rmd

SCENARIO ?= nightly
DURATION ?= 5m
chaos: build ## real processes under faults, judged: SCENARIO=nightly DURATION=5m SEED=7
	./$(CHAOS) run $(SCENARIO) --duration $(DURATION) $(if $(SEED),--seed $(SEED))

chaos-smoke: build ## a bounded part of it, for every push, without privileges
	timeout 300 ./$(CHAOS) run smoke --seed 1

# The version before this one: the newest release, built from history. Before there is one, the newer
# program is this commit with a feature level more, and the older one this tree.
PREVIOUS ?= $(lastword $(RELEASED))
OTHER = $(if $(PREVIOUS),$(PREVIOUS:$(lastword $(RELEASED))=$(firstword $(RELEASED))),$(VERSION)-next)
chaos-upgrade: build ## a rolling upgrade and back, from the last release: PREVIOUS=commit DURATION=5m SEED=7
	rm -rf out/other && mkdir -p out/other && git archive $(or $(PREVIOUS),HEAD) | tar x -C out/other
	$(if $(PREVIOUS),,sed -i 's/^const Level = .*/& + 1/' out/other/fsm/event/batch.go)
	cd out/other && $(GO) build -ldflags '-X rmd/cmd/rmd/internal/command.version=$(OTHER)' -o ../rmd-other ./cmd/rmd
	rm -rf out/other
	$(CHAOS) run upgrade $(if $(PREVIOUS),--bin $(BIN) --old out/rmd-other,--bin out/rmd-other --old $(BIN)) --duration $(DURATION) $(if $(SEED),--seed $(SEED))

chaos-sum: build ## add up several runs: RUNS='out/a out/b'
	./$(CHAOS) sum $(RUNS)

# With FOR there are seeds enough to the end of it, unless SEEDS says otherwise. Goroutines begin with the stacks that
# those before them needed: nearly all of a run's live for one message.
SEEDS ?= $(if $(FOR),100000,200)
FIRST ?= 1
sim: ## whole clusters in virtual time: SEEDS seeds from FIRST on, or SEED=n alone; FOR=1h, MINUTES=2 of faults, PROFILE=disk,net
	cd jepsen-lite/sim && RMD_SIM_SEEDS=$(SEEDS) RMD_SIM_FIRST=$(FIRST) RMD_SIM_SEED=$(SEED) RMD_SIM_FOR=$(FOR) RMD_SIM_PROFILE=$(PROFILE) RMD_SIM_MINUTES=$(MINUTES) \
	  GOGC=400 GODEBUG=adaptivestackstart=1 RMD_SIM_COMMIT=$(COMMIT) RMD_SIM_OUT=$(CURDIR)/out/sim $(GO) test -count=1 -timeout 24h -run '^TestSeeds$$'

QUEUES ?= 10000
sim-queues: ## QUEUES users have queues that come and go in such a cluster, 250 at a time, while leaders are killed and replicas restored
	RMD_SIM_QUEUES=$(QUEUES) $(GO) test -count=1 -v -timeout 30m -run '^TestManyQueues$$' ./jepsen-lite/sim

sim-sum: ## add up all runs of sim, by commit: cluster-hours, faults, violations, CPU seconds per cluster-hour
	@cd jepsen-lite/sim/result && RMD_SIM_SUM=$(CURDIR)/out/sim $(GO) test -count=1 -run '^TestTotals$$'

logsim: ## the log-contract simulation: SEEDS seeds from FIRST on, or SEED=n alone
	RMD_LOGSIM_SEEDS=$(SEEDS) RMD_LOGSIM_FIRST=$(FIRST) RMD_LOGSIM_SEED=$(SEED) $(GO) test -count=1 -v -timeout 60m -run TestSeeds ./jepsen-lite/logsim

ONLY ?=
mutants: ## plant every known kind of bug and see that the tests catch it; ONLY=7,12 for a part
	$(GO) run ./jepsen-lite/mutants -limit 15m -only '$(ONLY)'

GENERAL ?= 60
mutate: ## GENERAL random changes of fsm/ and scheduler/: how many does a test notice
	$(GO) run ./jepsen-lite/mutants -general $(GENERAL)

RUN ?= .
HADOOP ?=
interop: build ## real Hadoop on rmd and beside the Java ResourceManager (needs a JDK 17 and Maven); RUN=TestJobs for a part, HADOOP=3.5.0 for another version
	RMD_INTEROP_HADOOP=$(HADOOP) RMD_INTEROP_RECORDED=$(RECORDED) $(GO) test -tags interop -count=1 -v -timeout 60m -run '$(RUN)' ./interop/...

matrix: build ## interop with five versions of Hadoop, with NodeManagers of two, and under a rolling upgrade; writes the tables of docs/operations/hadoop.md (hours); HADOOP='3.3.6 3.5.0' for some rows
	RMD_INTEROP_BIN=$(CURDIR)/$(BIN) $(GO) run ./interop/matrix $(if $(HADOOP),-versions '$(HADOOP)' -others=false)

twin: ## rmd's planner beside Hadoop's CapacityScheduler (needs a JDK 17 and Maven): SEEDS=n from FIRST on, SEED=n or F=file alone; FOR=2m, ONLY=families, LABELS=1, PREEMPTION=1, EAGER=1, HADOOP=3.5.0
	RMD_INTEROP_HADOOP=$(HADOOP) $(GO) run ./twin/run $(if $(F),-file $(F),$(if $(SEED),-seed $(SEED),-seeds $(SEEDS) -first $(FIRST) $(if $(FOR),-for $(FOR)))) -only '$(ONLY)'$(if $(LABELS), -labels)$(if $(PREEMPTION), -preemption)$(if $(EAGER), -eager)

TREES ?= 10000
twin-preempt: ## what queues and applications must give to others, beside Hadoop's classes (needs a JDK 17 and Maven): TREES=n random queue trees, and leaves, from FIRST on
	RMD_INTEROP_HADOOP=$(HADOOP) $(GO) run ./twin/run -entitlements $(TREES) -first $(FIRST)
	RMD_INTEROP_HADOOP=$(HADOOP) $(GO) run ./twin/run -leaves $(TREES) -first $(FIRST)

WORLDS ?= 1000
twin-placement: ## how placement rules are read, and where they send submissions, beside Hadoop's classes (needs a JDK 17 and Maven): WORLDS=n random queue trees, with 100 submissions each, from FIRST on
	RMD_INTEROP_HADOOP=$(HADOOP) $(GO) run ./twin/run -placements $(WORLDS) -first $(FIRST)

guides: ## the guides for operators word by word, on machines of namespaces (needs root; the worker and the quickstart also a JDK 17 and Maven); RUN=TestDayTwo for a part
	$(GO) test -tags interop -count=1 -v -timeout 30m -run '$(RUN)' ./interop/guides

SUITES ?= .
hadoop-tests: build ## Hadoop's own client tests on rmd, quiet and with leaders killed (needs a JDK 17 and Maven); SUITES=TestNMClient MODE=quiet for a part, HADOOP=3.5.0 for those of another version
	RMD_INTEROP_HADOOP=$(HADOOP) RMD_HADOOP_TESTS='$(SUITES)' RMD_HADOOP_MODE=$(MODE) RMD_INTEROP_BIN=$(CURDIR)/$(BIN) $(GO) test -tags interop -count=1 -v -timeout 8h -run TestHadoop ./interop/hadooptests

browser: build ## the pages in a real browser (needs Chromium; with a ticket also MIT's KDC)
	RMD_BROWSER=1 $(GO) test -tags browser -count=1 -timeout 15m -run TestBrowser ./cmd/rmd

golden: ## rewrite golden files and scenarios; read the diff before committing
	$(GO) test ./fsm/event ./snapshot ./transport/http ./scheduler/planner -rewrite
	$(GO) test ./internal/tidy -run TestTables -rewrite

proto: ## generate the messages of Hadoop's wire again (needs protoc)
	$(GO) build -o bin/protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go
	PATH=$(CURDIR)/bin:$$PATH $(GO) generate ./transport/hadoop/proto

descriptors: ## record the protocols of HADOOP=x.y.z beside those of other releases, show what differs from the newest of them, and what rmd lacks (needs a JDK 17 and Maven)
	mkdir -p out && interop/descriptors $(HADOOP) >out/$(HADOOP)
	before=$$(ls transport/hadoop/proto/testdata/releases | sort -V | grep -v '^$(HADOOP).txt' | tail -1); \
	$(GO) test ./transport/hadoop/proto -count=1 -run TestRecordRelease -record $(CURDIR)/out/$(HADOOP) && \
	{ diff -U0 transport/hadoop/proto/testdata/releases/$$before transport/hadoop/proto/testdata/releases/$(HADOOP).txt || true; }
	$(GO) test ./transport/hadoop/proto -count=1 -run TestReleases

version: ## print the version of this tree
	@echo $(VERSION)

# What packages are called between releases: below the version, by date and hash of the commit.
packages: RELEASE ?= $(VERSION)~$(shell git log -1 --date=format:%Y%m%d --format=git%cd.%h)
packages: ## build a .deb and an .rpm in out/packages; install, upgrade and remove them on a throw-away file system
	GO='$(GO)' contrib/packages/build $(RELEASE) out/packages $$($(GO) env GOARCH)
	GO='$(GO)' contrib/packages/check $(RELEASE) out/packages

release: RELEASE ?= $(VERSION)
release: ## packages and archives for linux on amd64 and arm64, SBOMs and checksums in out/packages/release, built twice and tested
	GO='$(GO)' contrib/packages/release $(RELEASE) out/packages
	GO='$(GO)' contrib/packages/check $(RELEASE) out/packages release

NEXT ?= $(error NEXT is not set: write NEXT=1.1.0)
released: ## record this commit as the release of its version, and begin the next one: NEXT=1.1.0
	test -z "$$(git status --porcelain)" || { echo "commit your changes first"; exit 1; }
	sed -i "s/^$(VERSION)$$/$(NEXT)\n& $$(git rev-parse HEAD)/" $(VERSIONS)
	sed -i '0,/^## /s//## $(NEXT)\n\n&/' CHANGELOG.md
	$(GO) test ./internal/tidy -run '^TestVersionsInGuides$$' -rewrite
	git commit -qam 'release: record $(VERSION), begin $(NEXT)'

clean: ## remove what was built
	rm -rf bin out
