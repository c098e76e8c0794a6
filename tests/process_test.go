package tests

import (
	"sync"
	"testing"

	"ledger.example/tests/process"
)

// binaryDir holds the command that the tests run; TestMain makes and removes it.
var binaryDir string

var buildLedger = sync.OnceValues(func() (string, error) { return process.Build(binaryDir) })

// ledgerBinary is the path of the command, built once for the run.
func ledgerBinary(t testing.TB) string {
	t.Helper()
	binary, err := buildLedger()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// startLedger is process.Start of that command.
func startLedger(t testing.TB, arguments ...string) *process.Process {
	t.Helper()
	return process.Start(t, ledgerBinary(t), arguments...)
}

// runLedger is process.Run of that command.
func runLedger(t testing.TB, url string, arguments ...string) (out, problems string, status int) {
	t.Helper()
	return process.Run(t, ledgerBinary(t), url, arguments...)
}
