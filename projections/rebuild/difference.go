package rebuild

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Difference is an item of a projection that differs from the result of its events.
type Difference struct {
	Key    table.Key
	Absent bool    // the item is missing
	Fault  string  // see Stored; "": none
	Fields []Field // that differ
	Behind bool    // not an error: the item lacks only recent postings, which the projector has not counted yet

	// CountsMore is set if a balance, or a segment with the correct After, counts more postings than exist.
	CountsMore bool
}

// Field is one field of an item, as text.
type Field struct {
	Name    string `json:"name"`
	Stored  string `json:"stored"`
	Becomes string `json:"becomes"`
}

// Stray is an item under a projection's key that should not exist. No rebuild can repair it, as nothing is ever
// deleted.
type Stray struct {
	Key table.Key
	Why string
}

// differenceOf compares the stored item with its correct value, field by field.
func differenceOf[T any](key table.Key, found Stored[T], becomes T) Difference {
	d := Difference{Key: key, Absent: !found.Exists}
	if found.Fault != nil {
		d.Fault = found.Fault.Error()
	}
	d.compare("", reflect.ValueOf(any(found.Value)), reflect.ValueOf(any(becomes)))
	return d
}

var words = regexp.MustCompile("([a-z])([A-Z])")

// compare adds the fields in which two structs differ, except key fields and the version. Fields of a nested struct get
// its name as a prefix, as in "head.pending_debits", unless it is embedded.
func (d *Difference) compare(prefix string, stored, becomes reflect.Value) {
	if stored.Kind() != reflect.Struct {
		return
	}
	for i := range stored.NumField() {
		field := stored.Type().Field(i)
		name := prefix + strings.ToLower(words.ReplaceAllString(field.Name, "${1}_$2"))
		was, is := stored.Field(i).Interface(), becomes.Field(i).Interface()
		_, text := was.(fmt.Stringer)
		switch {
		case slices.Contains([]string{"pair", "account", "group", "user", "version"}, name):
		case field.Anonymous:
			d.compare(prefix, stored.Field(i), becomes.Field(i))
		case field.Type.Kind() == reflect.Struct && !text:
			d.compare(name+".", stored.Field(i), becomes.Field(i))
		case was != is:
			d.Fields = append(d.Fields, Field{Name: name, Stored: fmt.Sprint(was), Becomes: fmt.Sprint(is)})
		}
	}
}

// AllBehind reports whether every difference is Behind.
func AllBehind(differences []Difference) bool {
	return !slices.ContainsFunc(differences, func(d Difference) bool { return !d.Behind })
}

// lateFor is the age up to which an event counts as young: it may not have reached the projector yet, which usually
// takes a second or two. The audit has the same default.
const lateFor = time.Minute

func (b *Rebuilder) IsYoung(at time.Time) bool { return b.now().Sub(at) < lateFor }

// The age of a posting counts from its recording. Its KSUID has that time, unless the posting is backdated: such a
// posting has its own, and may be young anywhere among old ones.

// youngFrom returns the KSUID from which on all postings are young.
func (r *rebuild) youngFrom() events.KSUID { return events.FirstKSUID(r.horizon) }

// isYoungBackdated reports whether a posting is young although its KSUID may not be.
func (r *rebuild) isYoungBackdated(p projections.Posting) bool {
	return p.Backdated && !p.RecordedAt.Before(r.horizon)
}

// youngIn returns the fold of the young postings after `after` through `through`.
func (r *rebuild) youngIn(ctx context.Context, after, through events.KSUID) (young projections.Fold, err error) {
	from := r.youngFrom()
	for _, id := range slices.Sorted(maps.Keys(r.backdated)) {
		if p := r.backdated[id]; after < id && id <= through && id < from && r.isYoungBackdated(p) {
			if young, err = young.Add(p); err != nil {
				return young, err
			}
		}
	}
	if young.Through = max(after, events.LastKSUIDBefore(r.horizon)); young.Through >= through {
		return young, nil // no other posting is young
	}
	young, _, err = r.watched.FoldOn(ctx, r.key, young, through)
	return young, err
}

// isBalanceBehind reports whether a balance lacks only young postings: base, seal and head are correct or late, and all
// postings after the head are young. base and seal are the correct folds at the ends of the stored ones.
func (r *rebuild) isBalanceBehind(ctx context.Context, base, seal projections.Fold) (bool, error) {
	stored, head, late := r.chain.balance.Value, seal, false
	shown := stored.Head.Through
	if r.chain.balance.Fault != nil || stored.Unfinished || shown < seal.Through || !AllBehind(r.pending) {
		return false, nil
	}
	if shown > seal.Through {
		var err error
		if head, _, err = r.watched.FoldOn(ctx, r.key, seal, shown); err != nil {
			return false, err
		}
	}
	for _, pair := range [][2]projections.Fold{{stored.Base, base}, {stored.Seal, seal}, {stored.Head, head}} {
		if pair[0] == pair[1] {
			continue
		}
		if is, err := r.isFoldLate(ctx, pair[0], pair[1], ""); !is || err != nil {
			return false, err
		}
		late = true
	}
	unseen := false
	for p, err := range r.watched.Postings(ctx, r.key, shown, "") {
		if err != nil {
			return false, err
		}
		if unseen = true; p.ID >= r.youngFrom() {
			break
		}
		if !r.isYoungBackdated(p) {
			return false, nil
		}
	}
	if !late && !unseen {
		return false, nil
	}
	first := r.balance.First
	isYoung := first >= r.youngFrom() || r.isYoungBackdated(r.backdated[first])
	mayLackFirst := isYoung && (late || first > shown)
	return stored.First == first || mayLackFirst && (stored.First == "" || stored.First > first), nil
}

// isFoldLate reports whether a stored fold of the postings after `after` is late. found is their correct fold.
func (r *rebuild) isFoldLate(ctx context.Context, stored, found projections.Fold, after events.KSUID) (bool, error) {
	young, err := r.youngIn(ctx, after, found.Through)
	return err == nil && isLate(stored, found, young), err
}

// isLate reports whether a stored fold lacks only young postings. found is the correct fold, young the fold of the
// young postings in it.
//
// A stream record may reach the projector after the record of a later posting. So a fold may lack postings before its
// end. It is late, not wrong, if it ends where found does and the difference can be a set of young postings: its
// number, credits and debits do not exceed those of young. Each posting is a credit, a debit, a cost or of a hold.
// docs/audit.md states this rule. The audit implements it separately; the cases in storetest test
// both.
func isLate(stored, found, young projections.Fold) bool {
	m, err := found.Minus(stored) // what is missing
	if err != nil || stored.Through != found.Through || m.Count < 1 || m.Credits.Sign() < 0 || m.Debits.Sign() < 0 {
		return false
	}
	none := m.Credits.IsZero() && m.Debits.IsZero() && m.Expenditure.IsZero() && m.Holds == 0
	both := !m.Credits.IsZero() && !m.Debits.IsZero()
	return (m.Count > 1 || !none && !both) &&
		m.Count <= young.Count && m.Credits.Cmp(young.Credits) <= 0 && m.Debits.Cmp(young.Debits) <= 0
}
