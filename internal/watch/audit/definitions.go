package audit

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

const (
	numbersMax = 999_999_999_999 // the highest number of a numbered event
	groupsMax  = 10              // the most groups of an account
	frozen     = "frozen"        // the state of an account without debits
	closed     = "closed"        // the final state of an account
	kindChange = "AccountChanged"
)

// event is embedded in all events.
type event struct {
	Checksum string `is:"text"`
}

func (e event) sum() string { return e.Checksum }

// recorded is embedded in the events that say when they were recorded. Nothing is computed from the actor.
type recorded struct {
	event
	Actor string    `is:"actor"`
	At    time.Time `is:"instant"`
}

func (e recorded) when() time.Time { return e.At }

// asset is the registration of an asset.
type asset struct {
	recorded
	ID          string `is:"id"`
	Name        string `is:"name"`
	Description string `is:"name?"`
	Scale       int64  `is:"scale"`
	Currency    string `is:"id?"`
}

func (a *asset) index(*reader) (sk2, pk2 string) { return "", table.Asset.PK2() }

func (a *asset) check(r *reader) {
	if a.Currency == a.ID {
		r.fault(WrongValue, "Currency", "another asset")
	}
}

// account is an account with the limits of its balances.
type account struct {
	recorded
	ID        string    `is:"id"`
	Name      string    `is:"name?"`
	Profile   string    `is:"profile?"`
	Overdraft overdraft `is:"map?"`
	Metadata  metadata  `is:"map?"`
	Rates     rates     `is:"list?"`

	known     bool // false: its opening or a change is missing or unusable
	unlimited bool
	limits    map[string]*big.Int // the highest that it ever had, by asset; 0 for assets that are not in the map

	version   int64     // of its newest change; 1: it was never changed
	changedAt time.Time // of that change
	checksum  string    // of that change; "": it was never changed
	closedAt  time.Time // zero: it is not closed
	tagged    bool      // it has metadata, or once had
}

func (a *account) index(*reader) (sk2, pk2 string) { return table.Account.SK2(), table.Account.PK2() }

func (a *account) check(r *reader) {
	a.Overdraft.checkRates(r, a.Rates)
	a.known, a.version, a.unlimited, a.limits = true, 1, a.Overdraft.unlimited, a.Overdraft.limits
	a.tagged = len(a.Metadata) > 0
}

// limit returns how far below zero the balance of an asset may go. It is nil if the account is unlimited or not known.
func (a account) limit(asset string) *big.Int {
	switch limit, ok := a.limits[asset]; {
	case a.unlimited, !a.known:
		return nil
	case ok:
		return limit
	}
	return new(big.Int)
}

// overdraft has the limits of an account: the text "unlimited", or a map by asset.
type overdraft struct {
	unlimited bool
	limits    map[string]*big.Int
}

func (o *overdraft) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	if _, o.unlimited = v.(*types.AttributeValueMemberS); o.unlimited {
		r.scalar(name, rules["unlimited"])
		return true
	}
	o.limits, ok = readLimits(r, name, v, 100)
	return ok
}

// checkRates reports rates of an account without a limit: no guard counts its debits.
func (o overdraft) checkRates(r *reader, of rates) {
	if o.unlimited && len(of) > 0 {
		r.fault(WrongValue, "Rates", absent+": the account has no limit")
	}
}

// highest has the limits of assets that once had a higher one.
type highest map[string]*big.Int

func (h *highest) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	*h, ok = readLimits(r, name, v, 1000)
	return ok
}

// readLimits reads limits by asset.
func readLimits(r *reader, name string, v types.AttributeValue, most int) (map[string]*big.Int, bool) {
	return dictionary(r, name, v, rules["limit"], isID, func(all map[string]*big.Int) bool { return len(all) <= most },
		fmt.Sprintf("amounts that are not negative, of 1 to %d assets", most))
}

// change is the event that sets a new version of an account.
type change struct {
	recorded
	ID        string    `is:"id"`
	Number    int64     `is:"change"`
	Name      string    `is:"name?"`
	Profile   string    `is:"profile?"`
	Overdraft overdraft `is:"map?"`
	State     string    `is:"state"`
	Closing   bool      `is:"flag?"`
	Highest   highest   `is:"map?"`
	Metadata  metadata  `is:"map?"`
	Tagged    bool      `is:"flag?"`
	Rates     rates     `is:"list?"`
}

func (c *change) check(r *reader) {
	c.Overdraft.checkRates(r, c.Rates)
	if c.Closing && c.State != frozen {
		r.fault(WrongValue, "Closing", absent)
	}
	if len(c.Metadata) > 0 && !c.Tagged {
		r.fault(WrongValue, "Tagged", "true, beside metadata")
	}
}

// current is the current account: a copy of its newest change, under a key that every change overwrites. It does not
// embed the change, because it is not an event. Its checksum is that of the change.
type current struct {
	Newest change `is:"*"`
}

func (c *current) check(r *reader) {
	c.Newest.check(r)
	original := maps.Clone(r.item)
	original[table.AttrType] = stringOf(kindChange)
	if right := checksumOf(original); !r.broken && right != c.Newest.Checksum {
		r.fault(AccountCurrentWrong, table.AttrChecksum, strconv.Quote(right))
	}
}

// period is a closing of the books before a time.
type period struct {
	recorded
	Number int64     `is:"number"`
	Before time.Time `is:"instant"`
	Reason string    `is:"name"`
}

// group is the registration of a group.
type group struct {
	recorded
	ID          string `is:"id"`
	Name        string `is:"name?"`
	Description string `is:"name?"`
}

func (g *group) index(*reader) (sk2, pk2 string) { return "", table.Group.PK2() }

// grouping is one change of an account's groups.
type grouping struct {
	recorded
	Account string `is:"id"`
	Number  int64  `is:"number"`
	Added   string `is:"id?"`
	Removed string `is:"id?"`
	Groups  ids    `is:"list?"` // all groups of the account after the change
}

// changed returns the group that the account was put into or taken out of.
func (g grouping) changed() string { return g.Added + g.Removed }

func (g *grouping) check(r *reader) {
	if (g.Added == "") == (g.Removed == "") || slices.Contains(g.Groups, g.changed()) != (g.Added != "") {
		r.fault(WrongValue, "Groups", "one group added or removed: an added one is in the list, a removed one is not")
	}
}

// ids is a list of 1 to groupsMax ids in increasing order.
type ids []string

func (all *ids) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	list, ok := v.(*types.AttributeValueMemberL)
	if !ok {
		return false
	}
	isRight, before := 0 < len(list.Value) && len(list.Value) <= groupsMax, ""
	for _, element := range list.Value {
		id := textOf(element)
		isRight, before = isRight && isID(id) && before < id, id
		*all = append(*all, id)
	}
	if !isRight {
		r.fault(WrongValue, name, fmt.Sprintf("1 to %d ids in increasing order, or no such attribute", groupsMax))
	}
	return true
}

// grant gives a user a role on an account or in a group, or revokes it. The grants of a user are numbered from 1.
type grant struct {
	recorded
	Account string `is:"+id"`
	Group   string `is:"+id"`
	User    string `is:"id"`
	Number  int64  `is:"number"`
	Role    string `is:"role" when:"Type=MemberGranted"` // "" in a revocation
}
