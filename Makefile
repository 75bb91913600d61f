# `make` alone lists what there is. Everything sets itself up; only a Rust toolchain is taken for granted, and Node.js where it says so.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# What `make run` runs, and one test: cargo adds the features of dev-dependencies only if it builds a test. Without them, the SDK and all that
# is built on it would be compiled a second time.
SYSTEM := --workspace --test local --bin local --bin event-handler --bin query-api --bin payment-api --bin charge-handler --bin outbox-relay --bin archiver --bin rebuild

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

.PHONY: test
test: ## Run every test (the first build takes some minutes, the tests about five)
	@ops/test

.PHONY: storm
storm: system ## 20,000 events, shuffled, some twice or malformed, then 2,000 payments and 300 in locked mode, through the local system while functions are killed
	STORM_ORDERS=1500 STORM_INTENTS=2000 STORM_LOCKED_INTENTS=300 cargo test --workspace --test local storm -- --nocapture

# What runs, and in which order, is in ops/check.py. Each of its steps is a target here.
.PHONY: check
check: ## All that CI checks, several steps at once, with a table of what ran and how long it took (half an hour; logs in target/check)
	@python3 ops/check.py

# With everything in one call, cargo gives each dependency one set of features, and builds it once. `deployed` is the suite of make e2e.
.PHONY: everything
everything: ## Build every program and every test
	cargo build --workspace --all-targets --test deployed

# What `make run` runs. BUILT=1 says that it is built.
.PHONY: system
system:
	@[[ -n "$${BUILT:-}" ]] || cargo build $(SYSTEM)

.PHONY: tools
tools: cargo-deny cargo-machete ## Install what the checks use: Python and Node packages in the checkout, two cargo commands
	@for each in style sam lint ministack schemathesis powertools; do ops/venv $$each >/dev/null; done
	@ops/web

.PHONY: lint
lint: style clippy ## Formatting, clippy and documentation, warnings denied; scripts, workflows and links in documents

.PHONY: style
style: ## Formatting of Rust, Python and shell scripts, their linters, GitHub's workflows, links in documents
	ops/lint
	cargo fmt --all --check

# With the examples, so that cargo doc gives the dependencies the features that clippy gives them: they are checked once.
.PHONY: clippy
clippy: ## clippy and documentation, warnings denied
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --lib --examples

.PHONY: deny
deny: cargo-deny ## Bans, licences and sources of the dependencies
	cargo deny --workspace check bans licenses sources

# With metadata, because a package such as dynoxide-rs may have a library of another name.
.PHONY: unused
unused: cargo-machete ## Dependencies that no code names
	cargo machete --with-metadata bench crates tests web

.PHONY: msrv
msrv: ## Build the Lambdas and the crates of kit with the oldest compiler that Cargo.toml allows (rust-version)
	@ops/msrv

.PHONY: advisories
advisories: cargo-deny ## Known vulnerabilities (fetches the RustSec database)
	cargo deny --workspace check advisories

.PHONY: contract
contract: system ## schemathesis, all checks, against the running system
	tests/contract/run

.PHONY: web
web: ## Lint, types and unit tests of the page and the console; fails if the committed web/dist is stale (needs Node.js)
	tests/web/run

.PHONY: browser
browser: system ## The page and the console of the running system in a real browser; screenshots in target/browser (needs Node.js and Chromium)
	BROWSER_PATH="$$(ops/browser)" ops/web node tests/browser/run.mjs

.PHONY: template
template: ## sam validate, cfn-lint and our own checks of template.yaml and payments.yaml
	tests/template/run

.PHONY: ops
ops: system ## The tests of the commands below, on the local system and on an emulator of AWS
	tests/ops/run

.PHONY: scale
scale: ## Check docs/scale.md: its tables against the arithmetic, and the arithmetic against a simulation (half a minute)
	PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover --start-directory tests/scale

.PHONY: generated
generated: ## Make anew what is made from code and templates: expressions' snapshots, openapi.json, template.json, payments.json, web/dist
	tests/template/run --render
	INSTA_UPDATE=always cargo test --workspace --test store expressions
	UPDATE_OPENAPI=1 cargo test --workspace --test api the_committed_document
	ops/web npm run --silent generate
	ops/web npm run --silent build
	git status --short

.PHONY: run
run: system ## Start the system on this machine: HTTP on 3000, payment gateway on 3002, DynamoDB on 8000, SQS on 9324, SNS on 9911, S3 on 9000
	target/debug/local

# What the binaries are built for. A Lambda on arm64 costs a fifth less.
export ARCH ?= arm64
# What is operated on: development, staging or production; where it says so, also local, a running `make run`.
export STAGE ?= development
# Which of the two stacks: order-history, payments or all.
export STACK ?= all
export PARAMETERS FN EVENT INTENT MESSAGE RATE SKIP_ISSUER_CHECK YES TABLES
# A second stack beside the first, such as v2.
export BESIDE
# What is rebuilt, and how.
export TABLE INTO DRY_RUN RUN SINCE UNTIL TYPES ORDERS SNAPSHOT FROM_TABLE LEFT RIGHT SAMPLE

.PHONY: build
build: ## The Lambda binaries, for arm64 or ARCH=x86_64, in target/lambda
	@ops/build $(ARCH)

.PHONY: deploy
deploy: ## Build and deploy to AWS, with STAGE=…, STACK=… and PARAMETERS="JwtIssuer=… JwtAudience=… GatewayUrl=… GatewaySecretArn=…"
	@"$$(ops/venv sam)/python" ops/deploy.py deploy

.PHONY: plan
plan: ## Show what a deployment would change, without doing it (STAGE, STACK, PARAMETERS)
	@"$$(ops/venv sam)/python" ops/deploy.py plan

.PHONY: delete
delete: ## Delete a stage from AWS, both stacks or STACK=…; asks first
	@"$$(ops/venv sam)/python" ops/delete.py

.PHONY: invoke
invoke: ## Run a function once, FN=OrderCreated EVENT=events/OrderCreated.json or FN=payment-api EVENT=events/payments/create.json
	@"$$(ops/venv sam)/python" ops/invoke.py

.PHONY: status
status: ## Show the last deployment, queues, dead letters, alarms of both stacks or STACK=… (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/status.py

.PHONY: logs
logs: ## Follow a function's log, FN=OrderCreated, query-api, payment-api, charge, … (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py logs

.PHONY: dlq
dlq: ## Show what is in a dead-letter queue and why, FN=OrderCreated, charge, relay or all (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py dlq

.PHONY: drop
drop: ## Delete one dead letter, FN=OrderCreated, charge or relay, MESSAGE=<its id>, and print it (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py drop

.PHONY: redrive
redrive: ## Move what is in a dead-letter queue back to its queue, FN=OrderCreated, charge or all, RATE=<a second> (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py redrive

.PHONY: rebuild
rebuild: ## Build the view from the archive into a table, INTO=…, with DRY_RUN=1 only plan; RUN=… goes on (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py rebuild

.PHONY: rebuild-status
rebuild-status: ## Show how far a rebuild is, RUN=… (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py status

.PHONY: rebuild-verify
rebuild-verify: ## Compare two tables, or a table with the archive, order by order, LEFT=… RIGHT=…|archive (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py verify

.PHONY: switch
switch: ## Let the query function read another table, TABLE=ftgo-order-history-v2, or TABLE=own again; nothing else changes
	@"$$(ops/venv sam)/python" ops/switch.py

.PHONY: snapshot
snapshot: ## Fold what came to the archive since the last snapshot into a new one; FROM_TABLE=… begins with a table (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py snapshot

.PHONY: e2e
e2e: ## The system as it is deployed, on an emulator of AWS
	tests/e2e/run

.PHONY: sam-local
sam-local: ## Every sample of events/ through `sam local`, in a container, compared with our own Runtime API host
	@PYTHONPATH=ops "$$(ops/venv sam)/python" tests/sam-local/check.py

.PHONY: guide
guide: ## Follow docs/guide literally in an empty directory: every listing, every command, every output
	tests/guide/run

# The floor and the lock loop are built together with the Lambdas: they have the same features of the same dependencies.
.PHONY: bench
bench: ## Measure Lambdas and locks beside Python and Node, into docs/benchmarks (some minutes; keep the machine quiet)
	cargo build --release -p event-handlers -p archive -p query-api -p payment-api -p charge-handler -p outbox-relay -p rebuild -p floor -p lock-loop -p fold-loop
	cargo build --profile harness -p bench -p local
	target/harness/bench

.PHONY: package
package: ## Package every crate of crates/kit as for publishing; then run the documentation tests and examples of the packages, outside of this workspace
	@python3 ops/package.py

.PHONY: semver
semver: ## Compare the public API of every crate of crates/kit with the last release, or with BASELINE=<commit> (installs cargo-semver-checks)
	@python3 ops/semver.py

.PHONY: release
release: ## Check that this commit can be released, and print the notes and the commands; changes nothing (CHECK=skip: without make check)
	@python3 ops/release.py

.PHONY: cargo-deny
cargo-deny:
	@cargo deny --version >/dev/null 2>&1 || { echo "installing cargo-deny (once, some minutes)"; cargo install --locked --quiet cargo-deny@0.20.2; }

.PHONY: cargo-machete
cargo-machete:
	@cargo machete --version >/dev/null 2>&1 || { echo "installing cargo-machete (once)"; cargo install --locked --quiet cargo-machete@0.9.2; }
