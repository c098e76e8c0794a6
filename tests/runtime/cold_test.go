package runtime

import (
	"bytes"
	"compress/flate"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// coldRuns is how often each process is started to be timed.
const coldRuns = 5

// A cold start costs the caller what lies between the start of a process and its first answer. The times are reported, and
// judged by people: this machine does other things, too.
func TestColdStartTimes(t *testing.T) {
	s := newStore(t)
	environment := deployed(s.url, newTable(t, nil))
	books := launch(t, command, environment)
	openBooks(books)
	books.kill()

	polled, answered := make(map[string][]time.Duration), make(map[string][]time.Duration)
	for run := range coldRuns {
		for _, c := range []struct {
			name, folder string
			event        []byte
		}{
			{empty, empty, []byte(`{}`)},
			{client, client, nil},
			{"command, alive", command, request("GET", "/healthz", "")},
			{"command, a transfer", command, request("POST", "/v1/transfers", transfer("cold-"+strconv.Itoa(run)))},
			{"query, alive", query, request("GET", "/healthz", "")},
			{"query, a balance", query, request("GET", "/v1/accounts/jane/balances/USD", "")},
			{"projector, no records", projector, []byte(`{"Records":[]}`)},
		} {
			f := launch(t, c.folder, environment)
			polled[c.name] = append(polled[c.name], f.polled().Sub(f.began))
			if c.event != nil {
				a := f.invoke(c.event, usualTime)
				if a.failed {
					t.Errorf("%s: %s", c.name, a.text)
				}
				answered[c.name] = append(answered[c.name], a.at.Sub(f.began))
			}
			f.kill()
		}
	}
	median := func(all []time.Duration) float64 {
		if len(all) == 0 {
			return 0
		}
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	for _, name := range []string{empty, client, "command, alive", "command, a transfer", "query, alive", "query, a balance", "projector, no records"} {
		poll, answer := median(polled[name]), median(answered[name])
		t.Logf("%-29s first poll after %5.1f ms (%.2f times the empty function)", name, poll, poll/median(polled[empty]))
		if answer > 0 {
			t.Logf("%-29s first answer after %5.1f ms (%.2f times)", name, answer, answer/median(answered[empty]))
		}
	}
}

// What can be counted of a cold start: nothing is asked of the store before the first invocation, nor for what doesn't
// need it.
func TestNothingIsAskedBeforeTheFirstInvocation(t *testing.T) {
	for _, folder := range functions {
		s := newStore(t)
		f := launch(t, folder, deployed(s.url, newTable(t, nil)))
		f.polled()
		if folder == projector {
			f.invoke([]byte(`{"Records":[]}`), usualTime)
		} else {
			f.must(http.StatusOK, "GET", "/healthz", "")
		}
		if connections, _ := s.seen(); connections != 0 {
			t.Errorf("%s: %d connections to the store", folder, connections)
		}
	}
}

// What packages do before main is done at every cold start: ours do next to nothing, and what we import of others does
// little beside the client of the store, which there is no way around.
func TestLittleIsDoneBeforeMain(t *testing.T) {
	const (
		oursMost  = 16     // allocations
		addedMost = 200    // allocations beside those of a function that has a client of the store
		bytesMost = 65_536 // likewise
	)
	base := inits(t, client)
	for _, folder := range functions {
		var ours, allocations, size int
		for name, i := range inits(t, folder) {
			if strings.HasPrefix(name, "ledger.example") {
				ours += i.allocations
			}
			allocations += i.allocations - base[name].allocations
			size += i.bytes - base[name].bytes
		}
		t.Logf("%s: before main %d allocations of ours; %d and %d bytes more than a function with a client", folder, ours, allocations, size)
		if ours > oursMost || allocations > addedMost || size > bytesMost {
			t.Errorf("%s: too much is done before main", folder)
		}
	}
}

type initialized struct{ allocations, bytes int }

// inits returns what each package of a function allocates before main, as the Go runtime tells it.
func inits(t *testing.T, folder string) map[string]initialized {
	t.Helper()
	f := launch(t, folder, with(deployed("http://127.0.0.1:1", "none"), "GODEBUG", "inittrace=1"))
	f.polled()
	f.kill()
	all := make(map[string]initialized)
	for line := range strings.Lines(f.output.String()) {
		// init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs
		fields := strings.Fields(line)
		if len(fields) != 11 || fields[0] != "init" {
			continue
		}
		size, err := strconv.Atoi(fields[7])
		if err != nil {
			t.Fatal(err)
		}
		allocations, err := strconv.Atoi(fields[9])
		if err != nil {
			t.Fatal(err)
		}
		all[fields[1]] = initialized{allocations, size}
	}
	if all["net/http"] == (initialized{}) {
		t.Fatalf("no trace of what is done before main: %s", f.output)
	}
	return all
}

// zippedMost is the most bytes of one function as it is uploaded: Lambda fetches it before it starts.
const zippedMost = 6_000_000

func TestFunctionsAreSmall(t *testing.T) {
	for _, folder := range functions {
		text, err := os.ReadFile(binary(t, folder))
		if err != nil {
			t.Fatal(err)
		}
		var zipped bytes.Buffer
		w, err := flate.NewWriter(&zipped, flate.BestSpeed) // SAM zips better
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, zipped %d", folder, len(text), zipped.Len())
		if zipped.Len() > zippedMost {
			t.Errorf("%s: %d bytes zipped", folder, zipped.Len())
		}
	}
}

// What a function links is paid for at every cold start: no single sign-on, no role assumption, no metadata of EC2, no YAML.
func TestFunctionsLinkNothingNeedless(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-tags", "lambda.norpc", "./functions/command", "./functions/query", "./functions/projector")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dependencies := strings.Fields(string(out))
	for _, needless := range []string{
		"aws-sdk-go-v2/config", "service/sso", "service/ssooidc", "service/signin", "service/sts", "feature/ec2/imds",
		"html/template", "text/template", "net/http/httptest", "go.yaml.in/yaml/v3", "net/rpc", "testing", "spf13/cobra",
	} {
		for _, d := range dependencies {
			if d == needless || strings.HasSuffix(d, "/"+needless) {
				t.Errorf("the functions are linked with %s", d)
			}
		}
	}
	if len(dependencies) < 100 {
		t.Errorf("only %d dependencies are listed", len(dependencies))
	}
}
