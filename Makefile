# What sam build runs for each function (BuildMethod: makefile): a static binary without symbols, paths of this machine and
# the RPC mode that Lambda doesn't use. The same commit gives the same bytes, wherever it is built; its name is in them, for
# /healthz. Everything else is plain go build and go test.
#
# The architecture is the template's. SAM doesn't pass it on, but writes it to build.toml beside the artifacts' folder
# whenever it builds all functions: so build them all, not one alone with another architecture than the last time.
build_toml = $(ARTIFACTS_DIR)/../../build.toml
architecture = $(shell awk -F '"' '/^architecture = / { a = $$2 } /^functions = .*"$(@:build-%=%)"/ { print a }' "$(build_toml)")
goarch = $(or $(goarch_$(architecture)),$(error No known architecture of $@ in $(build_toml), \
	only "$(architecture)": build with plain "sam build", which writes that file))
goarch_arm64 = arm64
goarch_x86_64 = amd64

build-CommandFunction build-QueryFunction build-ProjectorFunction build-ListerFunction \
	build-SweeperFunction build-ForwarderFunction:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(goarch) go build -trimpath -buildvcs=auto -tags lambda.norpc -ldflags '-s -w' \
		-o "$(ARTIFACTS_DIR)/bootstrap" ./functions/$(FUNCTION)

build-CommandFunction: FUNCTION = command
build-QueryFunction: FUNCTION = query
build-ProjectorFunction: FUNCTION = projector
build-ListerFunction: FUNCTION = lister
build-SweeperFunction: FUNCTION = sweeper
build-ForwarderFunction: FUNCTION = forwarder

# rename gives the module of a fork another path: make rename MODULE=github.com/you/ledger. It needs Go and Perl.
.PHONY: rename
rename:
	@test -n "$(MODULE)" || { echo 'Say the new path: make rename MODULE=github.com/you/ledger'; exit 1; }
	@grep -rlIZ --exclude-dir=.git 'ledger\.example["/@=]' . | MODULE='$(MODULE)' xargs -0 \
		perl -pi -e 's#(?<![/.@\w-])ledger\.example(?=["/@=])#$$ENV{MODULE}#g'
	@go mod edit -module '$(MODULE)'
	@find . -name '*.go' -exec gofmt -w {} +

# release builds what users install into dist: make release VERSION=v0.1.0. It needs Go and git, and uploads nothing.
.PHONY: release
release:
	go run ./internal/release -version '$(VERSION)' $(if $(OUT),-out '$(OUT)') $(if $(PLATFORMS),-platforms '$(PLATFORMS)')

# clients packs the clients for TypeScript and Python into dist: make clients. It needs npm and Python 3.11 or newer.
.PHONY: clients
clients:
	.ci/packages '$(or $(OUT),dist)' $(VERSION)
