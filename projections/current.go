package projections

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Commands decide by the copy of an account's newest change: whoever may write to the table can thaw an account or
// raise its limit there. Each change overwrites the copy, so it is no event, and a record of it proves nothing by
// itself. The projector compares it with the change.

// IsWatched reports whether the projector reads records of new and altered items with this SK only to compare them.
func IsWatched(sk string) bool { return table.Current.Is(sk) }

// compareCurrent raises an alarm unless a record of the copy of an account's newest change shows the change of its
// number, and the table no older change than its newest one. A change and its copy are one write, so a late record is
// never a false alarm. Errors: those of table.Table; one of a newer version.
func (p *Projector) compareCurrent(ctx context.Context, r Record, account string) error {
	shown := r.Current
	if shown == nil {
		item, _, err := p.views.table.Get(ctx, r.Key(), table.Strong)
		if err != nil || item == nil { // deleted: that is another record
			return err
		}
		if shown, err = copied(table.DecodeCurrent(item)); err != nil {
			return err
		}
	}
	isRight := false
	err := p.retryOnConflict(ctx, func() error {
		change, next := table.Change.Key(account, shown.Number), table.Change.Key(account, shown.Number+1)
		items, _, err := p.views.table.Snapshot(ctx, []table.Key{r.Key(), change, next})
		if err != nil {
			return err
		}
		isRight, err = isCopyOf(*shown, items[1])
		isOlder := items[2] != nil && table.Read(items[0]).Integer(table.AttrNumber) == shown.Number
		isRight = isRight && !isOlder
		return err
	})
	if err != nil {
		return fmt.Errorf("compare %s with its change: %w", r.SK, err)
	}
	if !isRight {
		alarm(ctx, p.log, "copy of an account's newest change was altered", r, "EventsAltered")
	}
	return nil
}

// Copied decodes the copy of an account's newest change from all its attributes. One that no command can have written
// is the zero change. Error: it is of a newer version.
func Copied(all events.Fields) (*events.AccountChanged, error) {
	return copied(table.DecodeCurrentAttributes(all))
}

func copied(c events.AccountChanged, err error) (*events.AccountChanged, error) {
	if err != nil {
		c = events.AccountChanged{}
	}
	return &c, onlyNewer(err)
}

// isCopyOf compares a copy with the stored item of a change. Error: the change is of a newer version.
func isCopyOf(shown events.AccountChanged, item table.Item) (bool, error) {
	if item == nil {
		return false, nil
	}
	change, err := table.Only[events.AccountChanged](table.DecodeEvent(item))
	return err == nil && events.Checksum(shown) == events.Checksum(change), onlyNewer(err)
}

// onlyNewer returns an error only if it is of a newer version, which a deployment makes readable.
func onlyNewer(err error) error {
	if errors.Is(err, events.ErrNewerEvent) || errors.Is(err, table.ErrNewerForm) {
		return err
	}
	return nil
}
