package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"ledger.example/functions/api"
	"ledger.example/functions/metrics"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// The environment variables that template.yaml sets for the functions. The variables of the SDK are in service.go.
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
	// VariableIndexed lists the metadata keys by which transactions and accounts can be found, separated by commas.
	VariableIndexed = "LEDGER_INDEXED_METADATA"
	// VariableBus names the EventBridge bus of the forwarder.
	VariableBus = "LEDGER_EVENT_BUS"
	// VariableSource is the source of the events that the forwarder sends. By default, it is ledger/ and the name of
	// the table.
	VariableSource = "LEDGER_EVENT_SOURCE"
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
	client := table.NewClient(config)
	if local {
		if _, err := table.CheckTable(ctx, client, name); err != nil {
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

// Main is the main of a function. It opens the service that the environment describes and passes it to start, which
// must call Start. If the service cannot be opened, or one of the variables is missing that start reads, Main logs the
// error and exits.
func Main(start func(*Service), variables ...string) {
	log := lambdacontext.NewLogger()
	s, err := Open(context.Background(), os.Getenv, log, variables...)
	if err != nil {
		log.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	start(s)
}

// Start passes invocations to handle until the process receives SIGTERM. Then it starts no more invocations, waits
// until Lambda has read the answers of the running ones, and returns. Nothing is buffered, so nothing else needs to be
// closed.
//
// Lambda sends SIGTERM only if an extension is registered, and only between invocations. The functions register none,
// because a registration is one more request in every cold start. sam local can stop its containers at any time.
func Start[In, Out any](handle func(context.Context, In) (Out, error)) {
	listening := make(chan struct{}) // closed once signals are caught
	var running sync.RWMutex         // read-locked by each invocation until Lambda has read its answer
	go lambda.StartWithOptions(func(ctx context.Context, in In) (*answer, error) {
		<-listening
		running.RLock()
		out, err := handle(ctx, in)
		a := &answer{onClose: running.RUnlock}
		if err == nil {
			e := json.NewEncoder(&a.text)
			e.SetEscapeHTML(false)
			err = e.Encode(out)
		}
		if err != nil {
			running.RUnlock()
			return nil, err
		}
		return a, nil
	})
	// signal.Notify takes up to a millisecond. It runs while Lambda prepares the first invocation.
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	close(listening)
	<-terminate
	running.Lock()
}

// answer is the answer to an invocation. The Lambda library reads and closes it, and sends its content type.
type answer struct {
	text    bytes.Buffer
	onClose func()
}

// Read implements io.Reader.
func (a *answer) Read(b []byte) (int, error) { return a.text.Read(b) }

// Close implements io.Closer.
func (a *answer) Close() error {
	a.onClose()
	return nil
}

// ContentType returns the media type. The Lambda library calls it.
func (a *answer) ContentType() string { return "application/json" }
