package ledger

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
)

// What a cache was given, what it holds and what it returns share nothing that can be written. So nobody can change
// what later commands read.
func TestCachesHoldValues(t *testing.T) {
	limits := func(n int64) map[string]events.Amount { return map[string]events.Amount{"USD": events.NewAmount(n)} }
	metadata := func() map[string]string { return map[string]string{"tier": "gold"} }
	rates := func() []events.Rate { return []events.Rate{{Asset: "USD"}} }
	opening := events.AccountOpened{
		ID: "jane", Metadata: metadata(), Overdraft: events.Overdraft{Limits: limits(1)}, Rates: rates(),
	}
	account := NewAccount(opening,
		&events.AccountChanged{Number: 2, Overdraft: events.Overdraft{Limits: limits(2)}, Highest: limits(3),
			Metadata: metadata(), Tagged: true, Rates: rates()})
	legs := func() []events.Leg { return []events.Leg{{Account: "jane"}} }
	reversed := Lifecycle{Reversals: []events.TransactionReversed{{Taken: []events.Taken{{}}}, {Taken: []events.Taken{{}}}}}
	reversed.Header.Legs, reversed.Header.Metadata = legs(), map[string]string{"order": "1"}
	reversed.Ended = &events.HoldEnded{Legs: legs()}

	l, tested := New(Config{}), map[reflect.Type]bool{}
	checkCopies(t, tested, l.accounts.cache, "jane", knownAccount{account: account})
	checkCopies(t, tested, l.assets, "USD", events.AssetRegistered{ID: "USD"})
	checkCopies(t, tested, l.groups, "smiths", events.GroupRegistered{ID: "smiths"})
	checkCopies(t, tested, l.reversed, "t-1", reversed)
	checkCopies(t, tested, l.credits.cache, events.Pair{}, credits{})
	checkCopies(t, tested, l.rates.cache, events.Pair{}, guardRates{rates: map[string]rateState{"day@UTC": {slot: 1}}})
	for _, holder := range []any{Ledger{}, knownAccounts{}, knownCredits{}, knownRates{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(holder)) {
			if strings.HasPrefix(f.Type.String(), "*ledger.cache[") && !tested[f.Type] {
				t.Errorf("no test puts a value into the cache %T.%s", holder, f.Name)
			}
		}
	}
}

func checkCopies[K comparable, V any](t *testing.T, tested map[reflect.Type]bool, c *cache[K, V], k K, given V) {
	tested[reflect.TypeOf(c)] = true
	c.put(k, given)
	once, _ := c.get(k)
	again, _ := c.get(k)
	checkUnshared(t, reflect.TypeOf(given).Name(), reflect.ValueOf(given), reflect.ValueOf(once))
	checkUnshared(t, reflect.TypeOf(given).Name(), reflect.ValueOf(once), reflect.ValueOf(again))
	if !reflect.DeepEqual(given, once) {
		t.Errorf("the cache was given %+v and returns %+v", given, once)
	}
}

// checkUnshared checks that two equal values share no memory that can be written. What they have must not be empty.
func checkUnshared(t *testing.T, name string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type() != reflect.TypeFor[time.Time]() {
				checkUnshared(t, name+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func, reflect.Interface:
		switch {
		case a.IsNil() || a.Kind() != reflect.Pointer && a.Len() == 0:
			t.Errorf("the test gives no %s", name)
		case a.UnsafePointer() == b.UnsafePointer():
			t.Errorf("%s is shared", name)
		case a.Kind() == reflect.Pointer:
			checkUnshared(t, name, a.Elem(), b.Elem())
		case a.Kind() == reflect.Map:
			for _, k := range a.MapKeys() {
				checkUnshared(t, name, a.MapIndex(k), b.MapIndex(k))
			}
		default:
			for i := range a.Len() {
				checkUnshared(t, name, a.Index(i), b.Index(i))
			}
		}
	}
}

// Copies of reversals do not grow into each other.
func TestCachedReversalsAreCopies(t *testing.T) {
	two := Lifecycle{Reversals: []events.TransactionReversed{{Taken: make([]events.Taken, 1)}, {Taken: make([]events.Taken, 1)}}}
	copied := two.clone()
	_ = append(copied.Reversals[0].Taken, events.Taken{Quantity: events.NewAmount(7)})
	if copied.Reversals[1].Taken[0] != (events.Taken{}) {
		t.Error("an append to one reversal changed the next one")
	}
}
