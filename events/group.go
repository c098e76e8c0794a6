package events

import (
	"fmt"
	"slices"
	"time"
)

const (
	groupRegistered = "GroupRegistered"
	accountGrouped  = "AccountGrouped"
)

// GroupRegistered: a group of accounts was registered. A group has members. Its definition is immutable.
type GroupRegistered struct {
	ID          string    // see ValidID; set by the caller
	Name        string    // 0 to NameChars characters
	Description string    // 0 to DescriptionChars characters
	Actor       string    // who registered it, 1 to ActorChars characters
	At          time.Time // UTC, whole microseconds; set by the command
}

// AccountGrouped: an account was added to a group, or removed from one. It has all groups of the account after that. So
// the newest event is enough to know them, and concurrent changes cannot exceed AccountGroupsMax.
type AccountGrouped struct {
	Account string    // id of the account
	Number  int64     // of this account's changes of groups: 1, 2 … MemberNumberMax
	Groups  []string  // ids, sorted, at most AccountGroupsMax; nil for none
	Added   string    // id of the group, if the account was added to it
	Removed string    // id of the group, if the account was removed from it
	Actor   string    // who changed it, 1 to ActorChars characters
	At      time.Time // UTC, whole microseconds; set by the command. Order is that of Number, not of At
}

// EventName implements Event.
func (GroupRegistered) EventName() string { return groupRegistered }

func (e GroupRegistered) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *GroupRegistered) fields(c *coder) {
	text(c, "Actor", &e.Actor, actor)
	c.time("At", &e.At)
	text(c, "Description", &e.Description, description)
	text(c, "ID", &e.ID, requiredID)
	text(c, "Name", &e.Name, accountName)
}

// EventName implements Event.
func (AccountGrouped) EventName() string { return accountGrouped }

func (e AccountGrouped) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *AccountGrouped) fields(c *coder) {
	text(c, "Account", &e.Account, requiredID)
	text(c, "Actor", &e.Actor, actor)
	text(c, "Added", &e.Added, optionalID)
	c.time("At", &e.At)
	c.ids("Groups", &e.Groups, AccountGroupsMax)
	integer(c, "Number", &e.Number, 1, MemberNumberMax)
	text(c, "Removed", &e.Removed, optionalID)
	if c.out != nil {
		return
	}
	c.either("Added", e.Added, "Removed", e.Removed)
	if e.Added != "" && !e.Has(e.Added) || e.Removed != "" && e.Has(e.Removed) {
		c.fail("Groups", ruleAgree)
	}
}

// Has reports whether the account is in a group after the change.
func (e AccountGrouped) Has(group string) bool { return slices.Contains(e.Groups, group) }

// Changed returns the group that the account was added to or removed from.
func (e AccountGrouped) Changed() string { return e.Added + e.Removed }

// ids codes a list of at most most ids in increasing order, which is absent when it is empty.
func (c *coder) ids(field string, v *[]string, most int) {
	switch {
	case c.out != nil && len(*v) == 0, c.out == nil && !c.has(field):
		return
	case c.out != nil:
		c.out.BeginList(field, len(*v))
		for _, id := range *v {
			c.out.Text("", id)
		}
		c.out.End()
		return
	}
	stored := take[List](c, field)
	switch {
	case c.field != "":
		return
	case len(stored) == 0:
		c.fail(field, ruleEmpty)
		return
	case len(stored) > most:
		c.fail(field, ruleRange)
		return
	}
	ids := make([]string, len(stored))
	for i, element := range stored {
		id, ok := element.(string)
		rule := ""
		switch {
		case !ok:
			rule = ruleType
		case !ValidID(id):
			rule = ruleID
		case i > 0 && id <= ids[i-1]:
			rule = ruleIncrease
		}
		if rule != "" {
			c.fail(fmt.Sprintf("%s[%d]", field, i), rule)
			return
		}
		ids[i] = id
	}
	*v = ids
}

// either checks that exactly one of two texts is present.
func (c *coder) either(first, one, second, other string) {
	switch {
	case one == "" && other == "":
		c.fail(first, ruleMissing)
	case one != "" && other != "":
		c.fail(second, ruleBoth)
	}
}
