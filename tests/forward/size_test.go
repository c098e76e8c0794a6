package forward

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/app"
	"ledger.example/internal/forward"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/tests/system"
)

// The largest event that the ledger can have is below the 256 KB that an entry of EventBridge may have everywhere: the
// capture of a hold with the most legs, the longest ids and amounts, and metadata that JSON escapes twice.
func TestTheLargestEventFits(t *testing.T) {
	s := system.New(t)
	at := time.Now().Add(-time.Hour)
	ids, _, err := events.NewMinter(func() time.Time { return at }, nil).Mint(2 * events.PostingsMax)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 62)
	hold := events.TransactionPosted{ID: long, Kind: events.KindTransaction, Fingerprint: "1:" + long, Actor: long,
		Description: strings.Repeat("\x01", 256), ExpiresAt: at.Add(time.Hour), Metadata: make(map[string]string)}
	for i := range 14 {
		hold.Metadata[fmt.Sprintf("%02d", i)+strings.Repeat("\x01", 38)] = strings.Repeat("\x01", 252)
	}
	capture := events.HoldEnded{Transaction: long, Outcome: events.OutcomeCaptured, Actor: long, Description: hold.Description}
	for i := range events.PostingsMax {
		amount, err := events.ParseAmount(fmt.Sprintf("-%s", strings.Repeat("9", events.PostedDigits)), events.PostedDigits)
		if err != nil {
			t.Fatal(err)
		}
		leg := events.Leg{ID: ids[i], Account: fmt.Sprintf("%s%02d", long, i), Asset: fmt.Sprintf("%s%02d", long, i), Quantity: amount, Cost: amount}
		hold.Legs = append(hold.Legs, leg)
		leg.ID = ids[events.PostingsMax+i]
		capture.Legs = append(capture.Legs, leg)
	}
	page := projections.JournalPage{ID: events.FirstKSUID(at)}
	for _, e := range []events.Event{hold, capture} {
		s.Put(store.EventItem(e))
		page.Entries = append(page.Entries, projections.EntryOf(e))
	}
	s.Put(projections.JournalForm.Item(page))
	largest := 0
	if _, err := s.Service.Forward("events", func(_ context.Context, all []client.JournalEntry) (int, error) {
		for _, e := range all {
			body, err := forward.Body(e)
			if err != nil {
				t.Error(err)
			}
			largest = max(largest, len(body))
		}
		return len(all), nil
	})(t.Context(), app.Forwarding{}); err != nil {
		t.Fatal(err)
	}
	const envelope = 1 << 10 // of a CloudEvent
	if t.Logf("the largest event has %d bytes", largest); largest < 50_000 || largest+envelope > 256<<10 {
		t.Errorf("the largest event has %d bytes", largest)
	}
}
