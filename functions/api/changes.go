package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

const (
	ruleEqual   = "must be equal to the stored value"
	rulePath    = "must be equal to the id in the path"
	ruleVersion = "must be a whole number above zero"
)

// checkSame returns the problem of the fields that the ledger sets and that differ from the resource as it is stored.
// If it does not exist, all fields differ.
func checkSame[S, T any](
	a *api, r *request, read func(Resources, context.Context, string) (S, error), show func(S) T,
) error {
	if len(r.body.same) == 0 {
		return nil
	}
	var stored map[string]string
	is, err := read(a.config.Resources, r.ctx(), r.lastID())
	if err == nil {
		stored = textsOf(show(is))
	} else if p := problemOf(err, false); p.Status != http.StatusNotFound || r.http.Method != http.MethodPut {
		return err
	}
	var differ []fieldError
	for _, f := range r.body.same {
		if t, ok := events.ReadTime(f.text); ok && f.name == "created_at" {
			f.text = events.FormatTime(t)
		}
		if is, ok := stored[f.name]; !ok || f.text != is {
			differ = append(differ, fieldError{Field: f.name, Rule: ruleEqual})
		}
	}
	return r.invalid(differ)
}

// textsOf returns the texts of the fields of an answer that the ledger sets, by their names.
func textsOf(shown any) map[string]string {
	texts, v := make(map[string]string), reflect.ValueOf(shown)
	for _, f := range client.FieldsOf(v.Type()) {
		if f.IsSame() {
			texts[f.JSON] = fmt.Sprint(v.FieldByIndex(f.Index))
		}
	}
	return texts
}

// accountChange is a change of an account that has one of the versions.
type accountChange struct {
	ledger.ChangeAccount
	versions   []int64
	anyVersion bool
}

func (r *request) changeAccount(in *client.AccountChange) accountChange {
	c := accountChange{ChangeAccount: ledger.ChangeAccount{
		ID: in.ID, Actor: r.actor, Name: in.Name, Overdraft: (*events.Overdraft)(in.Overdraft),
	}}
	c.versions, c.anyVersion = r.ifMatch()
	if in.Profile != nil {
		c.Profile = new(string(in.Profile))
	}
	if r.body.has("metadata") { // an empty object is nil
		c.Metadata = &in.Metadata
	}
	if r.body.has("rates") {
		c.Rates = new(ratesOf(in.Rates))
	}
	if r.body.has("state") {
		c.State = new(events.AccountState(in.State))
	}
	return c
}

// change changes an account, and answers 200 with the current account.
func (a *api) change(r *request, c accountChange) (reply, error) {
	if err := checkSame(a, r, Resources.Account, showAccount); err != nil {
		return reply{}, err
	}
	if !c.anyVersion {
		now, err := a.matching(r.ctx(), c.ID, c.versions)
		if err != nil {
			return reply{}, err
		}
		c.IfMatch = now
	}
	account, err := a.config.Commands.ChangeAccount(r.ctx(), c.ChangeAccount)
	return okIf(showAccount(account), err)
}

// matching returns the version that an account must have: the only one in versions or, if there are several, the
// current version if it is among them. It returns -1 if none matches.
func (a *api) matching(ctx context.Context, id string, versions []int64) (int64, error) {
	if len(versions) == 1 {
		return versions[0], nil
	}
	account, err := a.config.Resources.Account(ctx, id)
	if err == nil && slices.Contains(versions, account.Version) {
		return account.Version, nil
	}
	return -1, err
}

// showChange shows the fields that changed. For the opening, it shows all fields that are set.
func showChange(v projections.AccountVersion) client.Change {
	shown := client.Change{Version: v.Is.Number, At: events.FormatTime(v.Is.At), Actor: v.Is.Actor}
	to := &shown.Changed
	if v.Was == nil || v.Was.Name != v.Is.Name {
		to.Name = &v.Is.Name
	}
	if v.Was == nil || !sameJSON(v.Was.Profile, v.Is.Profile) {
		to.Profile = json.RawMessage(v.Is.Profile)
	}
	if v.Was == nil || !ledger.SameOverdraft(v.Was.Overdraft, v.Is.Overdraft) {
		if is := v.Is.Overdraft; is.Unlimited || len(is.Limits) > 0 || v.Was != nil {
			to.Overdraft = new(showOverdraft(is))
		}
	}
	if v.Was == nil && len(v.Is.Metadata) > 0 || v.Was != nil && !maps.Equal(v.Was.Metadata, v.Is.Metadata) {
		to.Metadata = v.Is.Metadata
	}
	if v.Was == nil && len(v.Is.Rates) > 0 || v.Was != nil && !slices.Equal(v.Was.Rates, v.Is.Rates) {
		to.Rates = showRates(v.Is.Rates)
	}
	if v.Was == nil || v.Was.State != v.Is.State || v.Was.Closing && !v.Is.Closing {
		to.State = string(v.Is.State)
	}
	return shown
}

// sameJSON reports whether two JSON texts are equal, except for white space and the order of members. Numbers are
// compared as they are written.
func sameJSON(a, b string) bool {
	read := func(text string) (v any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		_ = d.Decode(&v) // profiles are JSON
		return v
	}
	return a == b || reflect.DeepEqual(read(a), read(b))
}
