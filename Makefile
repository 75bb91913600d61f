# Targets install their own tools. You need Rust; CONTRIBUTING.md lists the targets that also need Python, Node.js or a browser.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

ifneq (,$(filter 3.%,$(MAKE_VERSION))$(shell bash -c '((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 401)) || echo old'))
$(error This needs GNU make 4 (found $(MAKE_VERSION)) and bash 4.1, or later. On macOS: `brew install make bash`, then use `gmake` instead of `make`)
endif

# The scripts expect what cargo builds here, also if another target folder is configured.
export CARGO_TARGET_DIR := $(CURDIR)/target

# What `make run` runs, and one test: cargo adds the features of dev-dependencies only if it builds a test. Without them, the SDK and all that
# is built on it would be compiled a second time.
SYSTEM := --workspace --test local --bin local --bin event-handler --bin query-api --bin payment-api --bin charge-handler --bin outbox-relay --bin archiver --bin rebuild

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

.PHONY: test
test: ## Run all Rust tests (about ten minutes on two cores, after the first build)
	@ops/test

.PHONY: interop
interop: ## Run Powertools for Python and the crate idempotency on the same tables: each sees the records of the other
	tests/interop/run

.PHONY: storm
storm: system ## Send 20,000 events in random order, some twice or malformed, then 2,300 payments, through the local system while functions are killed
	STORM_ORDERS=1500 STORM_INTENTS=2000 STORM_LOCKED_INTENTS=300 cargo test --workspace --test local storm -- --nocapture

# What runs, and in which order, is in ops/check.py. Each of its steps is a target here.
.PHONY: check
check: ## Run all checks and print a table of results and times (needs Linux, Python 3.11, Node.js, Chromium)
	@python3 ops/check.py

# For the whole workspace, so that cargo gives each dependency one set of features and builds it once. `deployed`, the suite of make e2e, is no
# part of all targets, because `make test` does not run it.
.PHONY: everything
everything: ## Build all programs and tests
	cargo build --workspace --all-targets
	cargo build --workspace --test deployed

# What `make run` runs. BUILT=1 says that it is built.
.PHONY: system
system:
	@[[ -n "$${BUILT:-}" ]] || cargo build $(SYSTEM)

.PHONY: tools
tools: cargo-deny cargo-machete ## Install what `make check` needs: Python packages in target/venv, cargo-deny and cargo-machete
	@for each in style sam lint ministack schemathesis powertools; do ops/venv $$each >/dev/null; done

.PHONY: lint
lint: style clippy ## Check formatting, clippy and documentation (warnings are errors), scripts, workflows and links in documents

.PHONY: style
style: ## Check formatting of Rust, Python and shell scripts, their linters, GitHub's workflows, links in documents
	ops/lint
	cargo fmt --all --check

# With the examples, so that cargo doc gives the dependencies the features that clippy gives them: they are checked once.
.PHONY: clippy
clippy: ## Run clippy and cargo doc; warnings are errors
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --test deployed -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --lib --examples

.PHONY: deny
deny: cargo-deny ## Check bans, licences and sources of the dependencies
	cargo deny --workspace check bans licenses sources

# With metadata, because a package such as dynoxide-rs may have a library of another name.
.PHONY: unused
unused: cargo-machete ## Find dependencies that no code uses
	cargo machete --with-metadata bench crates tests web

.PHONY: msrv
msrv: ## Build the Lambdas and the crates of kit with the oldest compiler that Cargo.toml allows (rust-version)
	@ops/msrv

.PHONY: advisories
advisories: cargo-deny ## Check for known vulnerabilities (downloads the RustSec database)
	cargo deny --workspace check advisories

export PACKAGE SINCE_COMMIT MUTANTS
.PHONY: mutants
mutants: cargo-mutants ## Change the code of kit and order-view, one thing at a time, and check that a test fails (hours; PACKAGE, SINCE_COMMIT, MUTANTS: docs/mutants.md)
	@python3 ops/mutants.py

.PHONY: contract
contract: system ## Check both HTTP APIs of the running system against their OpenAPI documents, with schemathesis
	tests/contract/run

.PHONY: web
web: ## Lint, type-check and unit-test the page and the console; fails if the committed web/dist is out of date (needs Node.js)
	tests/web/run

.PHONY: browser
browser: system ## Test the page and the console in a real browser; screenshots in target/browser (needs Node.js and Chromium)
	BROWSER_PATH="$$(ops/browser)"; export BROWSER_PATH; ops/web node tests/browser/run.mjs

.PHONY: template
template: ## Check template.yaml and payments.yaml with sam validate, cfn-lint and our own tests
	tests/template/run

.PHONY: ops
ops: system ## Test the commands in ops/, on the local system and on an emulator of AWS
	tests/ops/run

.PHONY: scale
scale: ## Check docs/scale.md: its tables against the arithmetic, and the arithmetic against a simulation (half a minute)
	PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover --start-directory tests/scale

.PHONY: generated
generated: ## Update all generated files: snapshots of expressions, openapi.json, template.json, payments.json, types in web/src/api, web/dist
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
build: ## Build the Lambda binaries for arm64 (or ARCH=x86_64) into target/lambda
	@ops/build $(ARCH)

.PHONY: deploy
deploy: ## Build and deploy to AWS: STAGE=…, STACK=…, PARAMETERS="JwtIssuer=… JwtAudience=… GatewayUrl=… GatewaySecretArn=…"
	@"$$(ops/venv sam)/python" ops/deploy.py deploy

.PHONY: plan
plan: ## Show what a deployment would change, without changing anything (STAGE, STACK, PARAMETERS)
	@"$$(ops/venv sam)/python" ops/deploy.py plan

.PHONY: delete
delete: ## Delete the stacks of a stage from AWS, both or STACK=…; asks first
	@"$$(ops/venv sam)/python" ops/delete.py

.PHONY: invoke
invoke: ## Run a function once: FN=OrderCreated EVENT=events/OrderCreated.json, or FN=payment-api EVENT=events/payments/create.json
	@"$$(ops/venv sam)/python" ops/invoke.py

.PHONY: status
status: ## Show the last deployment, queues, dead letters and alarms of both stacks or STACK=… (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/status.py

.PHONY: logs
logs: ## Follow the log of a function: FN=OrderCreated, query-api, payment-api, charge, … (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py logs

.PHONY: dlq
dlq: ## Show the messages in a dead-letter queue and why they failed: FN=OrderCreated, charge, relay or all (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py dlq

.PHONY: drop
drop: ## Print one dead letter and delete it: FN=OrderCreated, charge or relay, MESSAGE=<its id> (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py drop

.PHONY: redrive
redrive: ## Move dead letters back to their queue: FN=OrderCreated, charge or all, RATE=<messages per second> (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/operate.py redrive

.PHONY: rebuild
rebuild: ## Build the view from the archive into a table: INTO=…; DRY_RUN=1 only plans, RUN=… continues a run (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py rebuild

.PHONY: rebuild-status
rebuild-status: ## Show the progress of a rebuild: RUN=… (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py status

.PHONY: rebuild-verify
rebuild-verify: ## Compare two tables, or a table with the archive, order by order: LEFT=… RIGHT=…|archive (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py verify

.PHONY: switch
switch: ## Make the query function read another table: TABLE=ftgo-order-history-v2, or TABLE=own to switch back; nothing else changes
	@"$$(ops/venv sam)/python" ops/switch.py

.PHONY: snapshot
snapshot: ## Create a snapshot from the last one and the events archived since then; FROM_TABLE=… starts from a table (STAGE may be local)
	@"$$(ops/venv sam)/python" ops/rebuild.py snapshot

.PHONY: e2e
e2e: ## Deploy the system to an emulator of AWS and use it there
	tests/e2e/run

.PHONY: sam-local
sam-local: ## Run every sample of events/ with `sam local` in a container, and compare with our own Runtime API host
	@PYTHONPATH=ops "$$(ops/venv sam)/python" tests/sam-local/check.py

.PHONY: guide
guide: ## Follow docs/guide literally in an empty directory: every listing, every command, every output
	tests/guide/run

# The floor and the lock loop are built together with the Lambdas: they have the same features of the same dependencies.
.PHONY: bench
bench: ## Measure Lambdas and locks and compare them with Python and Node; results in docs/benchmarks (some minutes; keep the machine idle)
	cargo build --release -p event-handlers -p archive -p query-api -p payment-api -p charge-handler -p outbox-relay -p rebuild -p floor -p lock-loop -p fold-loop
	cargo build --profile harness -p bench -p local
	target/harness/bench

.PHONY: package
package: ## Package every crate of crates/kit as for publishing, and run documentation tests and examples of the packages outside this workspace
	@python3 ops/package.py

.PHONY: semver
semver: ## Compare the public API of every crate of crates/kit with the last release, or with BASELINE=<commit>; BASELINE=none: first publication (installs cargo-semver-checks)
	@python3 ops/semver.py

.PHONY: release
release: ## Check that this commit can be released, and print the notes and the commands; changes nothing (BASELINE=none: first publication; CHECK=skip, ADVISORIES=skip: only a trial)
	@python3 ops/release.py

.PHONY: cargo-deny
cargo-deny:
	@cargo deny --version >/dev/null 2>&1 || { echo "installing cargo-deny (once, some minutes)"; cargo install --locked --quiet cargo-deny@0.20.2; }

.PHONY: cargo-mutants
cargo-mutants:
	@cargo mutants --version >/dev/null 2>&1 || { echo "installing cargo-mutants (once, some minutes)"; cargo install --locked --quiet cargo-mutants@27.1.0; }

.PHONY: cargo-machete
cargo-machete:
	@cargo machete --version >/dev/null 2>&1 || { echo "installing cargo-machete (once)"; cargo install --locked --quiet cargo-machete@0.9.2; }
