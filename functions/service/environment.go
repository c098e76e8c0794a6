package service

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"

	"ledger.example/functions/api"
	"ledger.example/ledger/wire"
)

// The environment of the functions, as template.yaml sets it. The SDK reads its own variables besides.
const (
	// VariableTable names the table.
	VariableTable = "LEDGER_TABLE"
	// VariableLocal, when true, lets callers in for whom no authorizer vouches: for an emulated gateway, which has none.
	VariableLocal = "LEDGER_LOCAL"
)

// Open returns the service that the environment describes: getenv is os.Getenv. Its error names every variable that is
// missing or wrong.
func Open(ctx context.Context, getenv func(string) string, log *slog.Logger) (*Service, error) {
	var faults []string
	name := getenv(VariableTable)
	if name == "" {
		faults = append(faults, VariableTable+" is missing: the name of the table")
	}
	if getenv("AWS_REGION") == "" && getenv("AWS_DEFAULT_REGION") == "" {
		faults = append(faults, "AWS_REGION is missing: where the table is")
	}
	local := false
	if text := getenv(VariableLocal); text != "" {
		var err error
		if local, err = strconv.ParseBool(text); err != nil {
			faults = append(faults, VariableLocal+" must be true or false")
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("environment: %s", strings.Join(faults, "; "))
	}
	client, err := wire.LoadClient(ctx)
	if err != nil {
		return nil, err
	}
	return New(Config{Client: client, Table: name, Actor: api.GatewayActor(local), Version: version(), Log: log})
}

// version returns the module's version, or the commit that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}
