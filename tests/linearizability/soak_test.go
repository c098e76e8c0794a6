package linearizability

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
	"ledger.example/tests/full"
	"ledger.example/tests/process"
)

var soakTime = flag.Duration("soak", 20*time.Second,
	"how long processes are killed; with more than some minutes, -timeout must allow for it")

const (
	// quiet is how long it may take until the last requests are answered, after the last process was started again.
	quiet = 3 * time.Minute
	// longestAway is how long something is away, beside the time that it takes to start.
	longestAway = 500 * time.Millisecond
	// byForce is less than what the JVM gets for its end before it is killed, when what started it is gone: 5 s.
	byForce = 4500 * time.Millisecond
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// TestSoak holds the ledger under load while its processes are killed: the API, the pump and DynamoDB Local, each a
// process of its own, are killed with SIGKILL in random turns and started again. What callers see meanwhile has an
// order, and at the end everything that was acknowledged is there, once and complete.
//
// DynamoDB Local itself forgets: when its JVM is killed by force, the transactions that it acknowledged in the last
// milliseconds may be gone (see TestDynamoDBLocalForgets). What is missing came last, and no transaction is missing in
// part, so that nothing which remains rests on it. Yet a process that lives on has it in its caches: an API an
// account's credits, a pump its place in the stream. A turn that kills the JVM is therefore a power cut: API and pump
// are killed with it, and what was acknowledged right before it is excused. In all other turns nothing is: what starts
// DynamoDB Local is killed, and the JVM ends by itself.
func TestSoak(t *testing.T) {
	full.Only(t, "kills processes for half a minute")
	m := startMachine(t)
	c := openBooks(t, m.api.URL)
	m.history, c.persists, c.outages = c.history, quiet, true
	ctx, over := context.WithCancel(t.Context())
	defer over()
	calling := c.call(ctx)
	m.killAll(*soakTime)
	over()
	calling.Wait()
	m.ends(m.api) // what was still under way has ended
	m.startAPI()
	t.Logf("%v were killed; %d answers are excused", m.count, c.history.excuse(m.cuts))
	c.check(m.api.URL)
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
	t       *testing.T
	history *history
	count   map[turn]int
	cuts    []cut

	dynamodbArguments, upArguments, pumpArguments []string
	store, api, pump                              *process.Process
	data                                          string // directory of DynamoDB Local's
	deadLetters                                   string // file of the pump
}

func startMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, count: make(map[turn]int), data: t.TempDir(),
		deadLetters: filepath.Join(t.TempDir(), "dead-letters.jsonl")}
	m.dynamodbArguments = []string{"dynamodb", "--port", process.FreePort(t), "--data", m.data}
	m.store = process.Start(t, m.dynamodbArguments...)
	m.upArguments = []string{"up", "--port", process.FreePort(t), "--no-pump", "--dynamodb-endpoint", m.store.URL}
	m.pumpArguments = []string{"pump", "--dynamodb-endpoint", m.store.URL, "--set-aside", m.deadLetters}
	m.startAPI()
	m.startPump()
	return m
}

func (m *machine) startStore() { m.store = m.start(m.dynamodbArguments) }
func (m *machine) startAPI()   { m.api = m.start(m.upArguments) }
func (m *machine) startPump()  { m.pump = m.start(m.pumpArguments) }

// start starts a process, again when it gives up: it wants an answer from DynamoDB Local within seconds, which a
// machine that is too busy may not give.
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

// killAll kills for so long, and until there were turns enough: each kind once, and twice a minute.
func (m *machine) killAll(long time.Duration) {
	enough := max(int(turns), int(2*long/time.Minute))
	pause := min(3*time.Second+long/40, 2*long/time.Duration(enough)) // the longest between two
	var deck []turn
	killed := 0
	for end := time.Now().Add(long); time.Now().Before(end) || killed < enough; killed++ {
		if len(deck) == 0 {
			for _, k := range rand.Perm(int(turns)) {
				deck = append(deck, turn(k))
			}
		}
		time.Sleep(rand.N(pause))
		began := time.Now()
		m.kill(deck[0])
		m.t.Logf("%v: %v, and all runs again after %v", began.Format(time.TimeOnly), deck[0],
			time.Since(began).Round(time.Millisecond))
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
			m.powerIsCut(m.history.now())
			return
		}
		m.away()
		m.startStore()
	case cutPower:
		began := m.history.now()
		killJVM(m.t, m.store)
		m.powerIsCut(began)
	}
}

// powerIsCut kills what is left when the JVM was killed, and starts everything again.
func (m *machine) powerIsCut(began int64) {
	m.api.Kill(m.t)
	m.pump.Kill(m.t)
	m.store.Wait(m.t)
	m.untilJVMEnded()
	m.away()
	m.startStore()
	m.cuts = append(m.cuts, cut{began, m.history.now()})
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
func (m *machine) away() { time.Sleep(rand.N(longestAway)) }

// verify audits the table, which nothing writes to any more.
func (m *machine) verify() {
	m.t.Helper()
	report, problems, status := process.Run(m.t, "", "verify", "--dynamodb-endpoint", m.store.URL, "--settle", "0",
		"--json")
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
	if letters, err := os.ReadFile(m.deadLetters); err == nil && len(letters) > 0 {
		m.t.Errorf("the pump has dead letters: %.2000s", letters)
	}
}

func (m *machine) ends(l *process.Process) {
	m.t.Helper()
	if status := l.Stop(m.t, syscall.SIGTERM); status != 0 {
		m.t.Errorf("exit status %d: %s", status, l.Said())
	}
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

// twoItems is one transaction of two items, put by the SDK alone.
type twoItems struct {
	id                  string
	asked, acknowledged time.Time // acknowledged is zero when it was not
}

// DynamoDB Local's JVM, killed by force, forgets transactions that it acknowledged: with nothing but the SDK against
// it. That none is older than the soak allows for, that none is forgotten in part, and that what is forgotten came
// last, is what the soak relies on.
func TestDynamoDBLocalForgets(t *testing.T) {
	full.Only(t, "kills DynamoDB Local")
	const writers, wanted = 4, 150
	arguments := []string{"dynamodb", "--port", process.FreePort(t), "--data", t.TempDir()}
	store := process.Start(t, arguments...)
	stop := make(chan struct{})
	var acknowledged atomic.Int64
	var writing sync.WaitGroup
	written := make([][]twoItems, writers)
	for w := range writers {
		client := dynamolocal.DynamoDB(store.URL)
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				p := twoItems{id: fmt.Sprintf("%d-%d", w, i), asked: time.Now()}
				if p.put(t, client) == nil {
					p.acknowledged = time.Now()
					acknowledged.Add(1)
				}
				written[w] = append(written[w], p)
			}
		})
	}
	for acknowledged.Load() < wanted {
		time.Sleep(time.Millisecond)
	}
	killed := time.Now()
	killJVM(t, store)
	close(stop)
	writing.Wait()
	store.Wait(t)

	client := dynamolocal.DynamoDB(process.Start(t, arguments...).URL)
	var newest time.Time // of what is there, when it was asked for
	var forgotten []twoItems
	for _, p := range slices.Concat(written...) {
		first, second := p.isThere(t, client, 0), p.isThere(t, client, 1)
		switch {
		case first != second:
			t.Errorf("%s is there in part", p.id)
		case first && p.asked.After(newest):
			newest = p.asked
		case !first && !p.acknowledged.IsZero():
			forgotten = append(forgotten, p)
		}
	}
	for _, p := range forgotten {
		if age := killed.Sub(p.acknowledged); age > forgets || newest.After(p.acknowledged) {
			t.Errorf("%s was acknowledged %v before the kill, and is not there; what was asked for %v later is",
				p.id, age, newest.Sub(p.acknowledged))
		}
	}
	t.Logf("DynamoDB Local forgot %d of %d acknowledged transactions", len(forgotten), acknowledged.Load())
}

func (p twoItems) key(n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		table.AttrPK: &types.AttributeValueMemberS{Value: p.id},
		table.AttrSK: &types.AttributeValueMemberS{Value: fmt.Sprint(n)},
	}
}

func (p twoItems) put(t *testing.T, client *dynamodb.Client) error {
	items := make([]types.TransactWriteItem, 2)
	for n := range items {
		items[n].Put = &types.Put{TableName: aws.String(tableName), Item: p.key(n)}
	}
	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items},
		func(o *dynamodb.Options) {
			o.Retryer = aws.NopRetryer{}
		})
	return err
}

func (p twoItems) isThere(t *testing.T, client *dynamodb.Client, n int) bool {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: p.key(n),
		ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item != nil
}
