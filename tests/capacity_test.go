package tests

import (
	"fmt"
	"maps"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledger.example/cmd/ledger/price"
)

// The tables of docs/capacity.md, and the figures in its text, are computed here.

const capacityFile = "../docs/capacity.md"

// Facts of AWS: the document names the page of each, and when it was looked up.
const (
	partitionWrites  = 1_000  // write units a second of one partition
	partitionReads   = 3_000  // read units a second
	readUnitBytes    = 4_096  // read strongly
	newTableWrites   = 4_000  // write units a second of a new table on demand, and of a new index
	newTableReads    = 12_000 // read units a second
	headroom         = 2      // times its former peak is what a table on demand takes at once
	tableQuota       = 40_000 // write units a second, and read units: of a table, and of each index
	gatewayQuota     = 10_000 // requests a second of an account's APIs
	concurrencyQuota = 1_000  // instances of an account's functions
	instanceRequests = 10     // a second, that an instance takes
	scalingStep      = 1_000  // instances that a function gets more of within scalingSeconds
	scalingSeconds   = 10
	retentionHours   = 24    // of the stream
	pollsOfShard     = 4     // a second, by Lambda
	pollRecords      = 1_000 // at most
	targetPercent    = 70    // of provisioned capacity: what auto scaling aims at
	tracedAtOnce     = 1     // request of a function, of each second
	tracedPercent    = 5     // of the rest
)

// What is assumed, besides what docs/cost.md assumes.
const (
	accountsAtOnce          = 32 // projections: accounts of a batch that are refolded at the same time
	togetherMilliseconds    = 40 // for which so many take, most of it CPU
	severalLanes            = 4  // what more lanes than the template's would do
	transactionMilliseconds = 10 // for which a transaction keeps others from its items
)

func TestFactsOfAWSAreDocumented(t *testing.T) {
	want := map[string]string{}
	for what, n := range map[string]int64{
		"Partition, write units a second": partitionWrites, "Partition, read units a second": partitionReads,
		"Read unit, bytes read strongly": readUnitBytes, "New table on demand, write units a second": newTableWrites,
		"New table on demand, read units a second": newTableReads, "Table on demand, times its former peak": headroom,
		"Table, and each index: write units, read units a second": tableQuota, "APIs of an account, requests a second": gatewayQuota,
		"Functions of an account, instances at once": concurrencyQuota, "Instance, requests a second": instanceRequests,
		"Function, instances more in 10 seconds": scalingStep, "Stream, hours": retentionHours,
		"Shard, polls a second by Lambda": pollsOfShard, "Poll, records": pollRecords, "Auto scaling, percent": targetPercent,
	} {
		want[what] = thousands(n)
	}
	told := make(map[string]string)
	for _, line := range documentRows(t, capacityFile, "Facts of AWS") {
		fields := strings.Split(line, "|")
		if len(fields) != 5 || strings.TrimSpace(fields[3]) == "" {
			t.Fatalf("%s: a fact, its figure, where it was seen", line)
		}
		told[strings.TrimSpace(fields[1])] = strings.TrimSpace(fields[2])
	}
	if !maps.Equal(told, want) {
		t.Errorf("%s tells of the facts\n%v\nthese are reckoned with\n%v", capacityFile, told, want)
	}
	source, err := os.ReadFile("../projections/batch.go")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(fmt.Sprintf(`accountsAtOnce += %d\n`, accountsAtOnce)).Match(source) {
		t.Errorf("a batch's accounts are not refolded %d at a time", accountsAtOnce)
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// figure writes a number as people read it: rounded to ones from a hundred on, else to tenths or hundredths.
func figure(r *big.Rat) string {
	switch {
	case r.IsInt():
		return thousands(floor(r))
	case r.Cmp(whole(100)) >= 0:
		return thousands(floor(sum(r, big.NewRat(1, 2))))
	case r.Cmp(whole(1)) >= 0:
		return r.FloatString(1)
	}
	return r.FloatString(2)
}

// loads are those of the document's columns: a trade and a settled one at each rate.
type loads [3][2]load

var columnTrades = [3]int64{10, 1_000, 100_000}

// row makes a line: in each column what it is of a trade, and of a settled one where that differs.
func (ls loads) row(what string, of func(l load) string) row {
	cells := make([]string, 0, len(ls))
	for _, kinds := range ls {
		a, b := of(kinds[0]), of(kinds[1])
		if a != b {
			a += " / " + b
		}
		cells = append(cells, a)
	}
	return row("| " + what + " | " + strings.Join(cells, " | ") + " |")
}

func (ls loads) figures(what string, of func(l load) *big.Rat) row {
	return ls.row(what, func(l load) string { return figure(of(l)) })
}

// measuredLoads measures what a load is made of.
func measuredLoads(t *testing.T) (ls loads) {
	t.Helper()
	kinds, closing := measuredTrades(t)
	mapping, _ := valueAt(stackResources(t)["ProjectorFunction"].Properties, "Events", "Postings", "Properties").(map[string]any)
	lanes, _ := mapping["ParallelizationFactor"].(int)
	batch, _ := mapping["BatchSize"].(int)
	if window := mapping["MaximumBatchingWindowInSeconds"]; lanes == 0 || batch != hotBatch || window != 1 {
		t.Fatalf("%d lanes, batches of %d, a window of %v s", lanes, batch, window)
	}
	var steady steadyCost
	steady.single, _ = measureSteady(t, 1, 1, steadySingle)
	steady.hot, steady.balanceBytes = measureSteady(t, hotBatch, 1, steadySeconds)
	steady.several, _ = measureSteady(t, hotBatch, severalLanes, steadySeconds)
	for i, trades := range columnTrades {
		for j, kind := range kinds {
			ls[i][j] = load{tradeCost: kind, steady: steady, closing: closing, trades: trades, lanes: int64(lanes), batch: int64(batch)}
		}
	}
	return ls
}

// TestCapacity computes the document's tables and figures anew.
func TestCapacity(t *testing.T) {
	t.Parallel()
	ls := measuredLoads(t)
	one, settled := ls[0][0], ls[0][1]
	backlog := [2]int64{measureBacklog(t, 1), measureBacklog(t, severalLanes)}
	t.Logf("%+v, backlog of %d: %v halves", one.steady, backlogOfOne, backlog)

	command, projector := memoryMegabytes(t, "CommandFunction"), memoryMegabytes(t, "ProjectorFunction")
	billOfLoad := func(l load) bill { return billOf(l, command, projector) }
	var shares []*big.Rat // of writes
	for _, kinds := range ls {
		for _, l := range kinds {
			shares = append(shares, billOfLoad(l).writesPercent(t))
		}
	}

	wantTable(t, capacityFile, "What one trade takes", tradeRows(one, settled))
	wantTable(t, capacityFile, "The table", tableRows(ls))
	wantTable(t, capacityFile, "A partition, an account", accountRows(one, settled))
	wantTable(t, capacityFile, "Which quota comes first", quotaRows(t, ls))
	wantTable(t, capacityFile, "The stream and its projector", streamRows(ls))
	wantTable(t, capacityFile, "An hour of backlog", backlogRows(ls, backlog))
	wantTable(t, capacityFile, "A day of the stream", retentionRows(ls))
	wantTable(t, capacityFile, "Dollars a month", dollarRows(ls, billOfLoad))

	most := mostOfAnAccount(one)
	slowest := new(big.Rat).Quo(big.NewRat(one.lanes*one.batch*1000, (one.batch+accountsAtOnce-1)/accountsAtOnce), whole(most))
	again, reread := rereadMost(one), big.NewRat(one.steady.several, 2*steadySeconds)
	breakEven := new(big.Rat).Quo(price.Dollars(price.WriteCapacity, 100, 1), price.Dollars(price.WriteUnits, secondsOfHour, 1e6))
	commands := times(new(big.Rat).Quo(sum(one.commandWrites(), one.historyWrites()), sum(one.tableWrites(), one.historyWrites())), 100, 1)
	reached := func(limit int64, l load) string { // trades a second
		return thousands(floor(new(big.Rat).Quo(whole(limit*l.trades), sum(l.commandWrites(), times(l.postingsOfAll(), l.refoldUnits, 1)))))
	}
	wantSaid(t, capacityFile,
		fmt.Sprintf("at %s trades a second or %s settled ones", reached(newTableWrites, one), reached(newTableWrites, settled)),
		fmt.Sprintf("from %s trades a second on, or %s settled ones", reached(tableQuota, one), reached(tableQuota, settled)),
		fmt.Sprintf("A shard brings at most %d postings a second", most),
		fmt.Sprintf("A full batch of as many accounts takes %d ms, so a lane does %s postings a second",
			batchMilliseconds(one.batch), figure(big.NewRat(one.lanes*one.batch*1000, batchMilliseconds(one.batch)))),
		fmt.Sprintf("It keeps up while %d refolds at once take less than %d ms", accountsAtOnce, floor(slowest)),
		fmt.Sprintf("for %d ms, one after another makes %d debits a second", transactionMilliseconds, 1000/transactionMilliseconds),
		fmt.Sprintf("%d postings a second in %d lanes: %s read units a second, instead of %s", hotBatch, severalLanes, figure(reread),
			figure(big.NewRat(one.steady.hot, 2*steadySeconds))),
		fmt.Sprintf("reach the partition's %s read units at about %d postings a second", thousands(partitionReads), again),
		fmt.Sprintf("Writes are the greatest line, %s to %s percent, and %s percent of them are the command's",
			slices.MinFunc(shares, (*big.Rat).Cmp).FloatString(0), slices.MaxFunc(shares, (*big.Rat).Cmp).FloatString(0), commands.FloatString(0)),
		fmt.Sprintf("cheaper when more than %s percent of it is used", figure(breakEven)),
		fmt.Sprintf("%d ms for a command, and %d ms for %d accounts of a batch", commandMilliseconds, togetherMilliseconds, accountsAtOnce),
	)
}

// wantSaid fails t unless the document has these words, wherever its lines break.
func wantSaid(t *testing.T, document string, sentences ...string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(string(text)), " ")
	for _, s := range sentences {
		if !strings.Contains(said, s) {
			t.Errorf("%s doesn't say: %s", document, s)
		}
	}
}
