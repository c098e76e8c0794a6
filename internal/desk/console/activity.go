package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/days"
)

const (
	// activityDays is how many days the home page shows, the last of which is today. activityMost is the most
	// transactions that are counted for it, the newest ones.
	activityDays, activityMost = 14, 5_000
	// activityAssets is how many assets it shows the volume of: those in most transactions.
	activityAssets = 2
	// activityStep is the time that transactions are counted by. A day of any zone begins at one of its multiples.
	activityStep = 15 * time.Minute
	// What the home page counts in the background is counted again when it is older than a hundred times the time that
	// this takes, at least backgroundFresh and at most backgroundStale. A page waits no longer than backgroundWait.
	backgroundFresh, backgroundStale, backgroundWait = 5 * time.Second, time.Minute, 200 * time.Millisecond
)

// background is a value that is read in the background while pages use it. It is safe for concurrent use.
type background[T any] struct {
	mu      sync.Mutex
	newest  T
	at      time.Time     // when its reading began; zero before the first one
	took    time.Duration // to read it
	reading chan struct{} // closed at the end of a reading, nil for none
}

// get returns the newest value, and when its reading began. It starts to read another one if that is too long ago, and
// waits for it if it is the first one, or reading is quick.
func (b *background[T]) get(running context.Context, read func(context.Context) (T, error)) (T, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading == nil && time.Since(b.at) > min(max(100*b.took, backgroundFresh), backgroundStale) {
		b.reading = make(chan struct{})
		go b.read(running, b.reading, read)
	}
	if done := b.reading; done != nil && b.took < backgroundWait {
		b.mu.Unlock()
		select {
		case <-done:
		case <-time.After(backgroundWait):
		}
		b.mu.Lock()
	}
	return b.newest, b.at
}

func (b *background[T]) read(running context.Context, done chan struct{}, read func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(running, directoryTimeout)
	defer cancel()
	begun := time.Now().UTC()
	value, err := read(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading, b.took = nil, time.Since(begun); err == nil {
		b.newest, b.at = value, begun
	}
	close(done)
}

// volume is the number of transactions of some time, and what they moved of each asset: what accounts got.
type volume struct {
	Transactions int
	Moved        map[string]events.Amount
}

// add counts other, too. A sum with too many digits is left out: it is no amount.
func (v *volume) add(other volume) {
	v.Transactions += other.Transactions
	for asset, amount := range other.Moved {
		if sum, err := v.Moved[asset].Add(amount); err == nil {
			v.Moved[asset] = sum
		}
	}
}

// volumeOf returns the volume of one transaction. A hold moves nothing until it is captured.
func volumeOf(t client.Transaction) volume {
	v := volume{Transactions: 1, Moved: make(map[string]events.Amount)}
	if t.Status != client.StatusPosted && t.Status != client.StatusCaptured {
		return v
	}
	for _, leg := range t.AsPosted() {
		if leg.Quantity.Sign() > 0 {
			v.add(volume{Moved: map[string]events.Amount{leg.Asset: leg.Quantity}})
		}
	}
	return v
}

// activity is what was posted in the newest days, by the beginning of each activityStep.
type activity struct {
	steps map[time.Time]volume
	since time.Time // what is older was not counted; zero if all was
}

// readActivity counts the newest transactions. It keeps to the pace.
func readActivity(ctx context.Context, api *client.Client, pace *pace) (activity, error) {
	found := activity{steps: make(map[time.Time]volume)}
	first := time.Now().UTC().AddDate(0, 0, -activityDays-1) // in any zone
	newest, cursor := api.Transactions(client.TransactionsQuery{From: first}), ""
	for n := 0; ; {
		page, err := newest.Page(ctx, cursor, client.PageLimit)
		if err != nil {
			return found, err
		}
		for _, t := range page.Value.Data {
			at := timeOf(t.PostedAt)
			step, ok := found.steps[at.Truncate(activityStep)]
			if !ok {
				step.Moved = make(map[string]events.Amount)
			}
			step.add(volumeOf(t))
			found.steps[at.Truncate(activityStep)] = step
			if n++; n == activityMost {
				found.since = at
			}
		}
		switch {
		case page.Value.NextCursor == nil:
			found.since = time.Time{}
			return found, nil
		case n >= activityMost:
			return found, nil
		}
		cursor = *page.Value.NextCursor
		if err := pace.wait(ctx); err != nil {
			return found, err
		}
	}
}

// activeDay is the volume of a day.
type activeDay struct {
	volume
	Day     time.Time
	Percent int  // of the day with most transactions
	AtLeast bool // not all transactions were counted
	Unknown bool // none were counted
}

// Top is where the bar of the day begins, from above.
func (d activeDay) Top() int { return 100 - d.Percent }

// Volume is the volume of the day.
func (d activeDay) Volume() volume { return d.volume }

// activeDays is what the home page shows of the newest days, oldest first.
type activeDays struct {
	Days   []activeDay
	Assets []string // that the volume is shown of
	At     string   // when it was counted, "" before the first time
	Since  string   // how far back, "" if all was counted
	Zone   string
}

// activeDays returns the volume of the newest days in the zone of the visit.
func (v *visit) activeDays() activeDays {
	counted, at := v.activity.get(v.running, func(ctx context.Context) (activity, error) {
		return readActivity(ctx, v.Console.api, &v.Console.pace)
	})
	if at.IsZero() {
		return activeDays{}
	}
	in := v.chosen()
	shown := activeDays{At: at.In(in.in).Format("15:04:05"), Zone: in.ZoneName()}
	if !counted.since.IsZero() {
		shown.Since = counted.since.In(in.in).Format("2 January 2006, 15:04:05")
	}
	today := days.Of(at.In(in.in)).Begin(time.UTC)
	most, in14 := 1, make(map[string]int)
	for n := range activityDays {
		date := today.AddDate(0, 0, n+1-activityDays)
		day := days.Of(date)
		begin, end := day.Begin(in.in), day.End(in.in)
		of := activeDay{Day: date, volume: volume{Moved: make(map[string]events.Amount)}}
		of.Unknown, of.AtLeast = !end.After(counted.since), begin.Before(counted.since)
		for at, step := range counted.steps {
			if !at.Before(begin) && at.Before(end) {
				of.add(step)
			}
		}
		for asset := range of.Moved {
			in14[asset]++
		}
		most = max(most, of.Transactions)
		shown.Days = append(shown.Days, of)
	}
	for i := range shown.Days {
		shown.Days[i].Percent = 100 * shown.Days[i].Transactions / most
	}
	shown.Assets = slices.SortedFunc(maps.Keys(in14), func(a, b string) int {
		return cmp.Or(cmp.Compare(in14[b], in14[a]), cmp.Compare(a, b))
	})
	shown.Assets = shown.Assets[:min(len(shown.Assets), activityAssets)]
	return shown
}

// states is the number of accounts in each state.
type states struct {
	Open, Frozen, Closed int
	IsPart               bool // there are more accounts
	At                   string
}

// statesOf counts the accounts of a directory, which is read in the background.
func (v *visit) statesOf(d *directory) states {
	s := states{IsPart: d.Next.Accounts != nil, At: d.read.In(v.chosen().in).Format("15:04:05")}
	for _, a := range d.Accounts {
		switch a.State {
		case client.StateFrozen:
			s.Frozen++
		case client.StateClosed:
			s.Closed++
		default:
			s.Open++
		}
	}
	return s
}
