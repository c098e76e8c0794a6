package service

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"

	"ledger.example/functions/api"
	"ledger.example/functions/metrics"
	"ledger.example/ledger/wire"
)

// The environment of the functions, as template.yaml sets it. The SDK reads its own variables besides.
const (
	// VariableTable names the table.
	VariableTable = "LEDGER_TABLE"
	// VariableLocal, when true, lets callers in for whom no authorizer vouches: for an emulated gateway, which has none.
	VariableLocal = "LEDGER_LOCAL"
	// VariableMetrics is the CloudWatch namespace of the metrics; empty, there are none.
	VariableMetrics = "LEDGER_METRICS"
)

// Open returns the service that the environment describes: getenv is os.Getenv. Its error names every variable that is
// missing or wrong. In AWS it sends nothing to the store: a function's start is free of round trips, and no role may
// describe the table that the template made. In an emulation it looks at the table once, as nothing else vouches for it.
func Open(ctx context.Context, getenv func(string) string, log *slog.Logger) (*Service, error) {
	var faults []string
	fault := func(variable, what string) { faults = append(faults, variable+" "+what) }
	name := getenv(VariableTable)
	switch {
	case name == "":
		fault(VariableTable, "is missing: the name of the table")
	case !validTable(name):
		fault(VariableTable, "is not the name of a table")
	}
	store := storeConfig(getenv, fault)
	local := false
	if text := getenv(VariableLocal); text != "" {
		var err error
		if local, err = strconv.ParseBool(text); err != nil {
			fault(VariableLocal, "must be true or false")
		}
	}
	namespace := getenv(VariableMetrics)
	if namespace != "" {
		if err := metrics.CheckNamespace(namespace); err != nil {
			fault(VariableMetrics, err.Error())
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("environment: %s", strings.Join(faults, "; "))
	}
	client := wire.NewClient(store)
	if local {
		if _, err := wire.CheckTable(ctx, client, name); err != nil {
			return nil, err
		}
	}
	if log != nil {
		log = log.With("table", name) // the store's errors don't name it
	}
	return New(Config{Client: client, Table: name, Actor: api.GatewayActor(local), Version: version(), Log: log, Metrics: namespace})
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
