# The targets a newcomer expects. `make test` needs Go, and installs nothing
# itself; .ci/run shows what a bare Debian machine needs.

SQLC_VERSION     := v1.31.1
TEMPL_VERSION    := v0.3.1118
GOLANGCI_VERSION := v2.15.0
TOOLS            := $(CURDIR)/bin/tools
export PATH      := $(TOOLS):$(PATH)

.PHONY: help demo test race lint generate check-generated bench fuzz tools clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: ## everything in one process on this machine
	go run ./cmd/server -demo

test: ## the whole suite: lint, generated code, every test with the race detector
	@$(MAKE) --no-print-directory check-generated lint race

# What is built for the race detector is built once: for the linter's types, the
# tests, and the program that some of them start.
RACE := GOFLAGS=-race

race: ## every Go test with the race detector
	$(RACE) go test -run '^TestTranscriptsAgree$$' -v ./internal/standin | grep 'transcripts:'
	$(RACE) go test -timeout 15m -skip '^TestTranscriptsAgree$$' ./...

lint: $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) ## gofmt and golangci-lint, which runs go vet
	@files=$$(gofmt -l cmd db docs internal web) || exit 1; if [ -n "$$files" ]; then echo "not gofmt'ed: $$files"; exit 1; fi
	$(RACE) $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) run ./...

generate: $(TOOLS)/sqlc-$(SQLC_VERSION) $(TOOLS)/templ-$(TEMPL_VERSION) ## sqlc and templ
	$(TOOLS)/sqlc-$(SQLC_VERSION) generate
	$(TOOLS)/templ-$(TEMPL_VERSION) generate -path web -log-level error

check-generated: generate ## fails when committed generated code is not current
	@changed=$$(git status --porcelain -- internal/db web) || exit 1; if [ -n "$$changed" ]; then \
		echo "generated code is not current: run 'make generate' and commit"; echo "$$changed"; exit 1; fi

bench: ## the whole path beside the bare SDK and beside the Data API, ratios printed
	go run ./internal/bench

fuzz: ## each fuzz target for 30 seconds
	@for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
		for f in $$(grep -hoE '^func (Fuzz[A-Za-z0-9_]+)' $$target/*_test.go | sed 's/func //'); do \
			echo "== $$target $$f"; go test ./$$target -run '^$$' -fuzz "^$$f$$" -fuzztime 30s || exit 1; done; done

tools: $(TOOLS)/sqlc-$(SQLC_VERSION) $(TOOLS)/templ-$(TEMPL_VERSION) $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

# tool NAME VERSION PACKAGE
define tool
$(TOOLS)/$(1)-$(2):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) GOFLAGS=-mod=mod go install $(3)@$(2)
	@mv $(TOOLS)/$(1) $$@
endef
$(eval $(call tool,sqlc,$(SQLC_VERSION),github.com/sqlc-dev/sqlc/cmd/sqlc))
$(eval $(call tool,templ,$(TEMPL_VERSION),github.com/a-h/templ/cmd/templ))
$(eval $(call tool,golangci-lint,$(GOLANGCI_VERSION),github.com/golangci/golangci-lint/v2/cmd/golangci-lint))

clean: ## remove what make made
	rm -rf bin
