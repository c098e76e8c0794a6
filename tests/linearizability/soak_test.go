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
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
)

var soakTime = flag.Duration("soak", 20*time.Second,
	"for how long processes are killed; -timeout must be longer")

const (
	// recoveryTime is how long it may take to answer the last requests after the last restart.
	recoveryTime = 3 * time.Minute
	// maxOutage is the longest time between a kill and the restart.
	maxOutage = 500 * time.Millisecond
	// jvmKillTime is a little less than the 5 s after which the JVM is killed if it does not end after its parent.
	jvmKillTime = 4500 * time.Millisecond
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// TestSoak kills and restarts the processes of a ledger under load. The API, the pump and DynamoDB Local are separate
// processes. They are killed with SIGKILL in random order. The history must be linearizable, and at the end every
// acknowledged transaction is stored completely, once.
//
// DynamoDB Local can lose the transactions that it acknowledged in the last milliseconds before its JVM is killed (see
// TestDynamoDBLocalForgets). It loses the newest transactions, and none in part, so no remaining transaction depends on
// a lost one. But processes that survive have lost data in their caches: the API an account's credits, the pump its
// position in the stream. Therefore the test kills the API and the pump together with the JVM, as a power cut would,
// and excuses the answers right before. Nothing else is excused: when the process that started DynamoDB Local is
// killed, the JVM ends in good order.
func TestSoak(t *testing.T) {
	full.Only(t, "kills processes for half a minute")
	m := startMachine(t)
	c := openBooks(t, m.api.URL)
	m.history, c.retryFor, c.outages = c.history, recoveryTime, true
	ctx, over := context.WithCancel(t.Context())
	defer over()
	calling := c.start(ctx)
	m.killAll(*soakTime)
	over()
	calling.Wait()
	m.mustStop(m.api) // no request is in flight any more
	m.startAPI()
	t.Logf("kills: %v; %d answers are excused", m.count, c.history.excuse(m.powerCuts))
	c.check(m.api.URL)
	m.verify()
	m.stop()
}

// killKind says which processes are killed.
type killKind int

const (
	killAPI   killKind = iota
	killPump           // restarts at the oldest record
	killStore          // the parent process of DynamoDB Local, whose JVM then ends in good order
	cutPower           // the JVM, the API and the pump
	killKinds
)

func (k killKind) String() string {
	return [...]string{"API", "pump", "DynamoDB Local", "power cut"}[k]
}

// deployment is a ledger in separate processes.
type deployment struct {
	t         *testing.T
	history   *history
	count     map[killKind]int
	powerCuts []powerCut

	dynamodbArguments, upArguments, pumpArguments []string
	store, api, pump                              *process.Process
	data                                          string // directory of DynamoDB Local
	deadLetters                                   string // file of the pump
}

func startMachine(t *testing.T) *deployment {
	t.Helper()
	m := &deployment{t: t, count: make(map[killKind]int), data: t.TempDir(),
		deadLetters: filepath.Join(t.TempDir(), "dead-letters.jsonl")}
	m.dynamodbArguments = []string{"dynamodb", "--port", process.FreePort(t), "--data", m.data}
	m.store = process.Start(t, m.dynamodbArguments...)
	m.upArguments = []string{"up", "--port", process.FreePort(t), "--no-pump", "--dynamodb-endpoint", m.store.URL}
	m.pumpArguments = []string{"pump", "--dynamodb-endpoint", m.store.URL, "--set-aside", m.deadLetters}
	m.startAPI()
	m.startPump()
	return m
}

func (m *deployment) startStore() { m.store = m.start(m.dynamodbArguments) }
func (m *deployment) startAPI()   { m.api = m.start(m.upArguments) }
func (m *deployment) startPump()  { m.pump = m.start(m.pumpArguments) }

// start starts a process, and retries if it exits. On a busy machine, DynamoDB Local may not answer it in time.
func (m *deployment) start(arguments []string) *process.Process {
	m.t.Helper()
	for end := time.Now().Add(recoveryTime); ; {
		l, err := process.Try(m.t, arguments...)
		if err == nil {
			return l
		}
		if m.t.Log(err); time.Now().After(end) {
			m.t.FailNow()
		}
	}
}

// killAll kills processes for the given duration, and until there were enough kills: at least one of each kind, and two
// a minute.
func (m *deployment) killAll(duration time.Duration) {
	minimum := max(int(killKinds), int(2*duration/time.Minute))
	pause := min(3*time.Second+duration/40, 2*duration/time.Duration(minimum)) // the longest pause between two kills
	var deck []killKind
	killed := 0
	for end := time.Now().Add(duration); time.Now().Before(end) || killed < minimum; killed++ {
		if len(deck) == 0 {
			for _, k := range rand.Perm(int(killKinds)) {
				deck = append(deck, killKind(k))
			}
		}
		time.Sleep(rand.N(pause))
		began := time.Now()
		m.kill(deck[0])
		m.t.Logf("%v: %v killed, all running again after %v", began.Format(time.TimeOnly), deck[0],
			time.Since(began).Round(time.Millisecond))
		m.count[deck[0]]++
		deck = deck[1:]
	}
}

// kill kills processes, and restarts them after a while.
func (m *deployment) kill(k killKind) {
	switch k {
	case killAPI:
		m.api.Kill(m.t)
		m.waitOutage()
		m.startAPI()
	case killPump:
		m.pump.Kill(m.t)
		m.waitOutage()
		m.startPump()
	case killStore:
		m.store.Kill(m.t)
		if took := m.waitForJVMEnd(); took >= jvmKillTime {
			m.t.Logf("the JVM took %v to end, and may have been killed: a power cut", took)
			m.finishPowerCut(m.history.now())
			return
		}
		m.waitOutage()
		m.startStore()
	case cutPower:
		began := m.history.now()
		killJVM(m.t, m.store)
		m.finishPowerCut(began)
	}
}

// finishPowerCut kills the other processes after the JVM was killed, and restarts all.
func (m *deployment) finishPowerCut(began int64) {
	m.api.Kill(m.t)
	m.pump.Kill(m.t)
	m.store.Wait(m.t)
	m.waitForJVMEnd()
	m.waitOutage()
	m.startStore()
	m.powerCuts = append(m.powerCuts, powerCut{began, m.history.now()})
	m.startAPI()
	m.startPump()
}

// waitForJVMEnd waits until the lock on the data is free, and returns how long that took.
func (m *deployment) waitForJVMEnd() time.Duration {
	m.t.Helper()
	lock, err := os.Open(filepath.Join(m.data, "ledger.lock"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer lock.Close()
	began := time.Now()
	for syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		if time.Since(began) > recoveryTime {
			m.t.Fatal("DynamoDB Local does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// waitOutage waits for a random time before a restart.
func (m *deployment) waitOutage() { time.Sleep(rand.N(maxOutage)) }

// verify audits the table. Nothing writes to it any more.
func (m *deployment) verify() {
	m.t.Helper()
	report, problems, status := process.Run(m.t, "", "verify", "--dynamodb-endpoint", m.store.URL, "--settle", "0",
		"--json")
	if m.t.Logf("ledger verify: %s", report); status != 0 {
		m.t.Errorf("ledger verify: exit status %d: %s", status, problems)
	}
}

// stop stops all processes in good order.
func (m *deployment) stop() {
	m.t.Helper()
	for _, l := range []*process.Process{m.api, m.pump, m.store} {
		m.mustStop(l)
	}
	if letters, err := os.ReadFile(m.deadLetters); err == nil && len(letters) > 0 {
		m.t.Errorf("the pump has dead letters: %.2000s", letters)
	}
}

func (m *deployment) mustStop(l *process.Process) {
	m.t.Helper()
	if status := l.Stop(m.t, syscall.SIGTERM); status != 0 {
		m.t.Errorf("exit status %d: %s", status, l.Stderr())
	}
}

// killJVM kills the JVM of DynamoDB Local. Its process id is in the log of the process that started it.
func killJVM(t *testing.T, dynamo *process.Process) {
	t.Helper()
	_, rest, found := strings.Cut(dynamo.Stderr(), `"pid":`)
	var pid int
	if _, err := fmt.Sscanf(rest, "%d", &pid); !found || err != nil || pid <= 1 {
		t.Fatalf("no process id of the JVM in: %s", dynamo.Stderr())
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

// twoItems is one transaction of two items, written with the SDK alone.
type twoItems struct {
	id                 string
	sent, acknowledged time.Time // acknowledged is zero when it was not
}

// TestDynamoDBLocalForgets shows, with the SDK alone, that DynamoDB Local can lose transactions that it acknowledged
// when its JVM is killed. It checks what TestSoak relies on: lost transactions are not older than maxForgotten, none is
// lost in part, and they are the newest.
func TestDynamoDBLocalForgets(t *testing.T) {
	full.Only(t, "kills DynamoDB Local")
	const writers, wanted = 4, 150
	arguments := []string{"dynamodb", "--port", process.FreePort(t), "--data", t.TempDir()}
	dynamo := process.Start(t, arguments...)
	stop := make(chan struct{})
	var acknowledged atomic.Int64
	var writing sync.WaitGroup
	written := make([][]twoItems, writers)
	for w := range writers {
		client := dynamolocal.DynamoDB(dynamo.URL)
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				p := twoItems{id: fmt.Sprintf("%d-%d", w, i), sent: time.Now()}
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
	killJVM(t, dynamo)
	close(stop)
	writing.Wait()
	dynamo.Wait(t)

	client := dynamolocal.DynamoDB(process.Start(t, arguments...).URL)
	var newest time.Time // when the newest stored transaction was sent
	var forgotten []twoItems
	for _, p := range slices.Concat(written...) {
		first, second := p.exists(t, client, 0), p.exists(t, client, 1)
		switch {
		case first != second:
			t.Errorf("%s is stored in part", p.id)
		case first && p.sent.After(newest):
			newest = p.sent
		case !first && !p.acknowledged.IsZero():
			forgotten = append(forgotten, p)
		}
	}
	for _, p := range forgotten {
		if age := killed.Sub(p.acknowledged); age > maxForgotten || newest.After(p.acknowledged) {
			t.Errorf("%s was acknowledged %v before the kill, but is lost; one that was sent %v later is stored",
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

func (p twoItems) exists(t *testing.T, client *dynamodb.Client, n int) bool {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: p.key(n),
		ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item != nil
}
