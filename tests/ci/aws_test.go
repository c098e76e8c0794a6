package ci

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledger.example/tests/harness/full"
)

// checksOf returns the names of the checks of .ci/aws-check, in their order.
func checksOf(t *testing.T) []string {
	t.Helper()
	script, err := os.ReadFile("../../.ci/aws-check")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^checks='([^']*)'`).FindStringSubmatch(string(script))
	if m == nil {
		t.Fatal(".ci/aws-check has no list of checks")
	}
	return strings.Fields(m[1])
}

// runCheck runs .ci/aws-check with stand-ins, in an AWS with a fault. It returns what it printed, its report and the
// calls that it made.
func runCheck(t *testing.T, world, fault string, mode ...string) (out, report, calls string, status int) {
	t.Helper()
	stands, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(world, "report")
	out, status = runScript(t, stands, []string{
		"WORLD=" + world, "FAULT=" + fault, "AWS_DEFAULT_REGION=us-east-1", "BENCH_SECONDS=1", "PAUSE=0", "PATIENCE=2",
		"AWS_ACCESS_KEY_ID=ADMIN", "AWS_PROFILE=",
	}, append([]string{"env", mode[0], "../../.ci/aws-check"}, append(mode[1:], file)...)...)
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(world, name)) // absent: nothing was written
		return string(text)
	}
	return out, read("report"), read("calls"), status
}

// In an AWS as we expect it, every check passes, and nothing remains. In one with a fault, exactly the check of that
// fault fails.
func TestAWSCheck(t *testing.T) {
	for _, c := range []struct{ fault, check, says string }{
		{"none", "", ""},
		{"policy", "table_policy", "a put by an administrator: allowed, not refused"},
		{"keys", "leading_keys", "a put of a transaction by the lister: allowed, not refused"},
		{"removed", "removed_record", "the alarm of deleted items: OK, not ALARM"},
		{"alarms", "alarm_configuration", "a deployment that is not gradual: 2, not 0"},
		{"acceptance", "acceptance", "1 tests fail"},
		{"balance", "hot_spender", "hot-spender:"},
		{"finding", "audit", "verify: finding: list_missing"},
		{"table", "leftovers", "tables that remain: 1, not 0"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			if c.fault != "none" && c.fault != "keys" {
				full.Only(t, "runs all of .ci/aws-check with another fault")
			}
			out, report, calls, status := runCheck(t, t.TempDir(), c.fault, "YES=yes", "run")
			t.Log(out)
			for _, check := range checksOf(t) {
				if !strings.Contains(report, "\n-- "+check+",") {
					t.Errorf("%s did not run", check)
				}
				failed := strings.Contains(report, "\nFAIL "+check+":")
				with := check == c.check || c.fault == "balance" && slices.Contains(
					[]string{"uniform", "hot_receiver", "hot_spender", "killed_function"}, check)
				if failed != with {
					t.Errorf("%s failed: %t", check, failed)
				}
			}
			if !strings.Contains(report, c.says) || (status == 0) != (c.check == "") {
				t.Errorf("exit %d, and the report does not say %q", status, c.says)
			}
			for _, call := range []string{
				"--no-confirm-changeset", "sam delete --stack-name ledger-aws-check --no-prompts", "dynamodb delete-table",
				"iam delete-role --role-name ledger-aws-check-operator", "logs delete-log-group --log-group-name logs-2",
				"events delete-event-bus",
			} {
				if !strings.Contains(calls, call) {
					t.Errorf("it did not call %s", call)
				}
			}
		})
	}
}

// Nothing is called that costs before somebody agreed. A deployment that fails ends the checks. A run can be cleaned up
// afterwards, as often as one likes, and another can follow.
func TestAWSCheckAsksAndCleans(t *testing.T) {
	t.Parallel()
	world := t.TempDir()
	out, _, calls, status := runCheck(t, world, "none", "YES=no", "run")
	if status != 2 || !strings.Contains(out, "dollars") || strings.Contains(calls, "sam ") || strings.Contains(calls, "create") {
		t.Errorf("exit %d without consent:\n%s\n%s", status, out, calls)
	}
	_, report, _, status := runCheck(t, world, "deploy", "YES=yes", "run")
	if status == 0 || strings.Contains(report, "-- settings") || !strings.Contains(report, "FAIL deployment") {
		t.Errorf("exit %d after a deployment that failed:\n%s", status, report)
	}
	if out, _, _, status = runCheck(t, world, "none", "YES=yes", "run"); status != 2 || !strings.Contains(out, "exists") {
		t.Errorf("exit %d over a report:\n%s", status, out)
	}
	for range 2 {
		if _, report, _, status = runCheck(t, world, "none", "YES=yes", "clean"); status != 0 {
			t.Errorf("cleaning: exit %d\n%s", status, report)
		}
	}
	if err := os.Remove(filepath.Join(world, "report")); err != nil {
		t.Fatal(err)
	}
	if _, report, _, status = runCheck(t, world, "none", "YES=yes", "run"); status != 0 {
		t.Errorf("another run: exit %d\n%s", status, report)
	}
}

// Each line of what testing.md does not prove names its check, or says why there is none. Each check is explained, and
// proves something.
func TestEachUnprovedLineHasItsCheck(t *testing.T) {
	read := func(file, from string) string {
		text, err := os.ReadFile("../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut(string(text), from)
		return below
	}
	unproved, explained := read("testing.md", "\n## What is not proved\n"), read("aws-check.md", "\n## The checks\n")
	checks, named := checksOf(t), make(map[string]bool)
	lines := regexp.MustCompile(`(?m)^\| (.+) \| (.+) \|$`).FindAllStringSubmatch(unproved, -1)
	if len(lines) < 10 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines[1:] { // after the head
		if strings.HasPrefix(line[1], "---") || strings.HasPrefix(line[2], "none: ") {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(line[2], -1) {
			if named[m[1]] = true; !slices.Contains(checks, m[1]) {
				t.Errorf("%s: there is no check %s", line[1], m[1])
			}
		}
		if !strings.Contains(line[2], "`") {
			t.Errorf("%q has no check, and no reason why", line[1])
		}
	}
	for _, check := range checks {
		if !strings.Contains(explained, fmt.Sprintf("\n| `%s` |", check)) {
			t.Errorf("docs/aws-check.md does not explain %s", check)
		}
		if !named[check] {
			t.Errorf("no line of testing.md needs %s", check)
		}
	}
}
