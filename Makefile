# What sam build runs for each function (BuildMethod: makefile): a static binary for the functions' architecture, without
# the symbols and the RPC mode that Lambda doesn't use. Everything else is plain go build and go test.
build-CommandFunction build-QueryFunction build-ProjectorFunction:
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build -trimpath -tags lambda.norpc -ldflags '-s -w' \
		-o $(ARTIFACTS_DIR)/bootstrap ./functions/$(FUNCTION)

build-CommandFunction: FUNCTION = command
build-QueryFunction: FUNCTION = query
build-ProjectorFunction: FUNCTION = projector
