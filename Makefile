# `make` alone lists what there is. Everything sets itself up; only a Rust toolchain is taken for granted.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

.PHONY: test
test: ## Run every test (the first build takes some minutes, the tests about four)
	@mkdir -p target
	@cargo test --workspace --no-fail-fast 2>&1 | tee target/test.log || failed=1; \
	awk '/^test result:/ { passed += $$4; failed += $$6 } END { printf "\n%d passed, %d failed\n", passed, failed }' target/test.log; \
	exit $${failed:-0}

.PHONY: check
check: lint deny template contract test ## All that CI checks

.PHONY: lint
lint: ## Formatting and clippy, warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

.PHONY: deny
deny: cargo-deny ## Bans, licences and sources of the dependencies
	cargo deny --workspace check bans licenses sources

.PHONY: advisories
advisories: cargo-deny ## Known vulnerabilities (fetches the RustSec database)
	cargo deny --workspace check advisories

.PHONY: snapshots
snapshots: ## Accept the rendered expressions as they are now; review the diff
	INSTA_UPDATE=always cargo test --workspace --test store expressions

.PHONY: openapi
openapi: ## Make crates/query-api/openapi.json anew from the code
	UPDATE_OPENAPI=1 cargo test --workspace --test api the_committed_document

.PHONY: contract
contract: ## schemathesis, all checks, against the running system
	cargo build --workspace --bins
	tests/contract/run

.PHONY: template
template: ## sam validate, cfn-lint and our own checks of template.yaml
	tests/template/run

.PHONY: rendered
rendered: ## Make tests/template/rendered.json anew from template.yaml
	tests/template/run --render

.PHONY: run
run: ## Start the system on this machine: HTTP on 3000, DynamoDB on 8000, SQS on 9324
	cargo build --workspace --bins
	target/debug/local

.PHONY: build
build: ## The Lambda binaries, optimised: target/release/{event-handler,query-api}
	cargo build --release -p event-handlers -p query-api

# The floor is built together with the Lambdas: it has the same features of the same dependencies.
.PHONY: bench
bench: ## Measure the Lambdas beside Python and Node, into docs/benchmarks (ten minutes; keep the machine quiet)
	cargo build --release -p event-handlers -p query-api -p floor
	cargo build --release -p bench
	target/release/bench

.PHONY: cargo-deny
cargo-deny:
	@cargo deny --version >/dev/null 2>&1 || { echo "installing cargo-deny (once, some minutes)"; cargo install --locked --quiet cargo-deny@0.20.2; }
