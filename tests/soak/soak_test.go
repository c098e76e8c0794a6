// Package soak holds the ledger under load while its processes are killed: clients post over HTTP, and the API, the pump
// and DynamoDB Local, each a process of its own, are killed with SIGKILL in random turns and started again. At the end
// everything that was acknowledged is there, once and whole.
//
// DynamoDB Local itself forgets: when its JVM is killed by force, the transactions that it acknowledged in the last
// milliseconds may be gone (TestDynamoDBLocalForgets shows it with nothing but the SDK). What is missing is what came last,
// and whole, so that nothing which remains rests on it. Yet a process that lives on remembers it: an API what it knows of
// an account's credits, a pump where in the stream it is. A turn that kills the JVM is therefore a power cut: API and pump
// are killed with it. Transactions acknowledged right before one may be missing; they are counted apart, as forgotten. In
// all other turns nothing may be: what starts DynamoDB Local is killed, and the JVM ends by itself.
package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ledger.example/tests/caller"
	"ledger.example/tests/process"
)

var (
	soakTime = flag.Duration("soak", 20*time.Second, "how long processes are killed; with more than some minutes, -timeout must allow for it")
	soakSeed = flag.Uint64("seed", 0, "which turns the processes are killed in, and what clients post; 0: others every time")
)

const (
	// clients post at once. DynamoDB Local takes one transaction at a time.
	clients = 6
	// quiet is how long it may take until the last requests are answered, and until everything is projected, after the
	// last process was started again.
	quiet = 3 * time.Minute
	// longestAway is how long something is away, beside the time that it takes to start.
	longestAway = 500 * time.Millisecond
	// byForce is less than what the JVM gets for its end before it is killed, when what started it is gone: 5 s.
	byForce = 4500 * time.Millisecond
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("to have these turns again: -seed=%d", seed)
	m := startMachine(t, rand.New(rand.NewPCG(seed, 0)))
	b := openBooks(t, m.url())

	began := time.Now()
	end, over := context.WithCancel(t.Context())
	defer over()
	var posting sync.WaitGroup
	for i := range clients {
		c := newClient(t, m.url(), i, rand.New(rand.NewPCG(seed, uint64(i)+1)))
		posting.Go(func() { b.keep(c.run(end)) })
	}
	m.killAll(*soakTime)
	over()
	took := time.Since(began)
	posting.Wait()
	m.restartAPI() // what was still under way has ended

	f := b.audit(caller.New(t, m.url()), m.cuts)
	t.Logf("%v, %d kills (%s): %s", took.Round(time.Second), m.kills(), m.killed(), f)
	if f.lost > 0 || f.duplicated > 0 {
		t.Errorf("%d transactions are lost, %d duplicated", f.lost, f.duplicated)
	}
	if f.acknowledged == 0 || f.unknown == 0 {
		t.Errorf("nothing was disturbed: %s", f)
	}
	m.verify()
	m.stop()
}

// turn is what is killed.
type turn int

const (
	killAPI   turn = iota
	killPump       // it begins at the oldest record again
	killStore      // what started DynamoDB Local; the JVM is asked to end by that
	cutPower       // the JVM, the API and the pump
	turns
)

func (k turn) String() string {
	return [...]string{"API", "pump", "DynamoDB Local", "power cut"}[k]
}

// machine is the ledger in processes of its own.
type machine struct {
	t      *testing.T
	random *rand.Rand
	count  [turns]int
	cuts   []cut

	dynamodbArguments, upArguments, pumpArguments []string
	store, api, pump                              *process.Process
	data                                          string // directory of DynamoDB Local's
	aside                                         string // file of what the projector could not take
}

func startMachine(t *testing.T, random *rand.Rand) *machine {
	t.Helper()
	m := &machine{t: t, random: random, data: t.TempDir(), aside: filepath.Join(t.TempDir(), "aside.jsonl")}
	m.dynamodbArguments = []string{"dynamodb", "--port", freePort(t, random), "--data", m.data}
	m.store = process.Start(t, m.dynamodbArguments...)
	m.upArguments = []string{"up", "--port", freePort(t, random), "--no-pump", "--dynamodb-endpoint", m.store.URL}
	m.pumpArguments = []string{"pump", "--dynamodb-endpoint", m.store.URL, "--set-aside", m.aside}
	m.startAPI()
	m.startPump()
	return m
}

func (m *machine) startStore() { m.store = m.start(m.dynamodbArguments) }
func (m *machine) startAPI()   { m.api = m.start(m.upArguments) }
func (m *machine) startPump()  { m.pump = m.start(m.pumpArguments) }

// start starts a process, again when it gives up: it wants an answer from DynamoDB Local within seconds, which a machine
// that is too busy may not give.
func (m *machine) start(arguments []string) *process.Process {
	m.t.Helper()
	for end := time.Now().Add(quiet); ; {
		l, err := process.Try(m.t, arguments...)
		if err == nil {
			return l
		}
		if m.t.Log(err); time.Now().After(end) {
			m.t.FailNow()
		}
	}
}

func (m *machine) url() string { return m.api.URL }

// killAll kills for so long, and until there were turns enough: each kind once, and twice a minute.
func (m *machine) killAll(long time.Duration) {
	enough := max(int(turns), int(2*long/time.Minute))
	pause := min(3*time.Second+long/40, 2*long/time.Duration(enough)) // the longest between two
	var deck []turn
	for end := time.Now().Add(long); time.Now().Before(end) || m.kills() < enough; {
		if len(deck) == 0 {
			for _, k := range m.random.Perm(int(turns)) {
				deck = append(deck, turn(k))
			}
		}
		time.Sleep(time.Duration(m.random.Int64N(int64(pause))))
		began := time.Now()
		m.kill(deck[0])
		m.t.Logf("%v: %v, and all runs again after %v", began.Format(time.TimeOnly), deck[0], time.Since(began).Round(time.Millisecond))
		m.count[deck[0]]++
		deck = deck[1:]
	}
}

// kill kills, and starts again after a while.
func (m *machine) kill(k turn) {
	switch k {
	case killAPI:
		m.api.Kill(m.t)
		m.away()
		m.startAPI()
	case killPump:
		m.pump.Kill(m.t)
		m.away()
		m.startPump()
	case killStore:
		m.store.Kill(m.t)
		if took := m.untilJVMEnded(); took >= byForce {
			m.t.Logf("the JVM took %v to end, and may have been killed: a power cut", took)
			m.powerIsCut(time.Now())
			return
		}
		m.away()
		m.startStore()
	case cutPower:
		began := time.Now()
		killJVM(m.t, m.store)
		m.powerIsCut(began)
	}
}

// cut is a power cut: from right before the JVM was killed to when nobody was left who could acknowledge.
type cut struct{ began, ended time.Time }

// powerIsCut kills what is left when the JVM was killed, and starts everything again.
func (m *machine) powerIsCut(began time.Time) {
	m.api.Kill(m.t)
	m.pump.Kill(m.t)
	m.store.Wait(m.t)
	m.untilJVMEnded()
	m.away()
	m.startStore()
	m.cuts = append(m.cuts, cut{began, time.Now()})
	m.startAPI()
	m.startPump()
}

// untilJVMEnded waits until nobody holds the data's lock any more, and returns how long that took.
func (m *machine) untilJVMEnded() time.Duration {
	m.t.Helper()
	lock, err := os.Open(filepath.Join(m.data, "ledger.lock"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer lock.Close()
	began := time.Now()
	for syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		if time.Since(began) > quiet {
			m.t.Fatal("DynamoDB Local does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// away waits until what was killed may start again.
func (m *machine) away() {
	for end := time.Now().Add(time.Duration(m.random.Int64N(int64(longestAway)))); time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// restartAPI lets what is under way end.
func (m *machine) restartAPI() {
	m.ends(m.api)
	m.startAPI()
}

// verify audits the table, which nothing writes to any more.
func (m *machine) verify() {
	m.t.Helper()
	report, problems, status := process.Run(m.t, "", "verify", "--dynamodb-endpoint", m.store.URL, "--settle", "0", "--json")
	if m.t.Logf("ledger verify: %s", report); status != 0 {
		m.t.Errorf("ledger verify: exit status %d: %s", status, problems)
	}
}

// stop ends everything in good order.
func (m *machine) stop() {
	m.t.Helper()
	for _, l := range []*process.Process{m.api, m.pump, m.store} {
		m.ends(l)
	}
	if aside, err := os.ReadFile(m.aside); err == nil && len(aside) > 0 {
		m.t.Errorf("the pump set records aside: %.2000s", aside)
	}
}

func (m *machine) ends(l *process.Process) {
	m.t.Helper()
	if status := l.Stop(m.t, syscall.SIGTERM); status != 0 {
		m.t.Errorf("exit status %d: %s", status, l.Said())
	}
}

func (m *machine) kills() (n int) {
	for _, count := range m.count {
		n += count
	}
	return n
}

func (m *machine) killed() string {
	var parts []string
	for k, count := range m.count {
		parts = append(parts, fmt.Sprint(turn(k), " ", count))
	}
	return strings.Join(parts, ", ")
}

// killJVM kills the JVM of DynamoDB Local, whose id the process that started it tells.
func killJVM(t *testing.T, store *process.Process) {
	t.Helper()
	_, rest, found := strings.Cut(store.Said(), `"pid":`)
	var pid int
	if _, err := fmt.Sscanf(rest, "%d", &pid); !found || err != nil || pid <= 1 {
		t.Fatalf("no id of the JVM in: %s", store.Said())
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}
