// Package runtime runs the real binaries of the functions as Lambda does: as processes of their own that ask a runtime API
// for invocations. The runtime API is a double, the store DynamoDB Local behind a proxy that counts and interferes.
package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
)

var (
	dynamoDB  *local.Server // the one DynamoDB Local of the run
	binaryDir string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if dynamoDB, err = local.Start(ctx, local.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}); err != nil {
		fmt.Fprintln(os.Stderr, "these tests need DynamoDB Local, and it could not be started:", err)
		return 1
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := dynamoDB.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "stopping DynamoDB Local:", err)
		}
	}()
	if binaryDir, err = os.MkdirTemp("", "ledger-runtime-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binaryDir)
	return m.Run()
}

// The functions, and what they are compared with, by the folders of their mains.
const (
	command   = "functions/command"
	query     = "functions/query"
	projector = "functions/projector"
	empty     = "tests/runtime/testdata/empty"
	client    = "tests/runtime/testdata/client"
)

var functions = []string{command, query, projector}

// buildAll builds every binary with the flags of the Makefile, for this machine.
var buildAll = sync.OnceValue(func() error {
	arguments := []string{"build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binaryDir}
	for _, folder := range []string{command, query, projector, empty, client} {
		arguments = append(arguments, "./"+folder)
	}
	build := exec.Command("go", arguments...)
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
})

// binary is the path of a function, built once for the run.
func binary(t testing.TB, folder string) string {
	t.Helper()
	if err := buildAll(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(binaryDir, filepath.Base(folder))
}

var tables atomic.Int64

// newTable makes a table for t, from template.yaml as change leaves it, and returns its name.
func newTable(t testing.TB, change func(*dynamodb.CreateTableInput)) string {
	t.Helper()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("t%d-%s", tables.Add(1), strings.Map(nameByte, t.Name()))
	in.TableName = &name
	if change != nil {
		change(in)
	}
	if _, err := local.DynamoDB(dynamoDB.Endpoint).CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return name
}

// nameByte keeps what a table's name may hold.
func nameByte(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
