package app

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"

	"ledger.example/functions/api"
	"ledger.example/functions/metrics"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// The environment variables that template.yaml sets for the functions. The variables of the SDK are in store.go.
const (
	// VariableTable names the table.
	VariableTable = "LEDGER_TABLE"
	// VariableLocal, if true, accepts callers without an authorizer, but only requests for a host of this machine. It
	// is for sam local, which ignores authorizers.
	VariableLocal = "LEDGER_LOCAL"
	// VariableUserClaim is the claim of a token that has the user's id. The default is sub.
	VariableUserClaim = "LEDGER_JWT_USER_CLAIM"
	// VariableAdminScope is the scope that makes the bearer of a token an administrator. By default, no scope does.
	VariableAdminScope = "LEDGER_JWT_ADMIN_SCOPE"
	// VariableMetrics is the CloudWatch namespace of the metrics. By default, there are no metrics.
	VariableMetrics = "LEDGER_METRICS"
	// VariableIndexed lists the metadata keys by which transactions can be found, separated by commas.
	VariableIndexed = "LEDGER_INDEXED_METADATA"
	// VariableBus names the EventBridge bus of the forwarder.
	VariableBus = "LEDGER_EVENT_BUS"
)

// Open returns the service that the environment describes. getenv is os.Getenv; a nil log is slog.Default(). The error
// names every variable that is missing or invalid; further variables are those that the function reads itself. In AWS,
// Open sends no requests: that keeps cold starts short, and the functions' roles may not describe the table. With
// VariableLocal, Open checks the table's schema.
func Open(ctx context.Context, getenv func(string) string, log *slog.Logger, further ...string) (*Service, error) {
	var faults []string
	fault := func(variable, what string) { faults = append(faults, variable+" "+what) }
	name := getenv(VariableTable)
	switch {
	case name == "":
		fault(VariableTable, "is missing: the name of the table")
	case !isTable(name):
		fault(VariableTable, "is not the name of a table")
	}
	for _, variable := range further {
		if getenv(variable) == "" {
			fault(variable, "is missing")
		}
	}
	config := awsConfig(getenv, variableEndpoint, fault)
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
	indexed, err := projections.ParseIndexed(getenv(VariableIndexed))
	if err != nil {
		fault(VariableIndexed, err.Error())
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("environment: %s", strings.Join(faults, "; "))
	}
	client := store.NewClient(config)
	if local {
		if _, err := store.CheckTable(ctx, client, name); err != nil {
			return nil, err
		}
	}
	if log != nil {
		log = log.With("table", name) // errors of DynamoDB do not name the table
	}
	return New(Config{
		Client: client, Table: name, Version: version(), Log: log, Metrics: namespace, Indexed: indexed, Local: local,
		Caller: api.GatewayCaller(api.Callers{
			Local: local, UserClaim: getenv(VariableUserClaim), AdminScope: getenv(VariableAdminScope),
		}),
	})
}

// version returns the commit that was built, or else the module's version.
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
