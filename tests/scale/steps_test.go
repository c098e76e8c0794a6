package scale

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
)

// line is what is done, and what it took.
type line struct {
	name string
	cost cost
	all  bool // it takes the same in the smallest account, too
}

// steps measures one step after the other.
type steps struct {
	*bank
	lines []line
}

// do measures a step.
func (s *steps) do(name string, all bool, step func()) {
	s.t.Helper()
	s.lines = append(s.lines, line{name, s.cost(step), all})
}

// cannot notes a step that an account so small has no use for.
func (s *steps) cannot(name string) { s.lines = append(s.lines, line{name: name}) }

// get measures a read that is answered with 200, by a process that knows what the path names; an empty path is of a page that isn't
// there.
func (s *steps) get(name string, all bool, path string) {
	s.t.Helper()
	if path == "" {
		s.cannot(name)
		return
	}
	s.Must(200, "GET", path, "")
	s.do(name, all, func() { s.Must(200, "GET", path, "") })
}

// next returns the path of the page after the first one, whose path has a parameter, "" when there is none.
func (s *steps) next(path string) string {
	s.t.Helper()
	cursor := s.Must(200, "GET", path, "").Text("next_cursor")
	if cursor == "" {
		return ""
	}
	return path + "&cursor=" + url.QueryEscape(cursor)
}

// tail measures the projection of postings as they come, none of them settled.
func (s *steps) tail(asset string) {
	s.t.Helper()
	made := 0
	arrive := func(n int) []events.PostingRecorded {
		postings := s.every(asset, n, s.now().Add(time.Duration(made)*time.Microsecond))
		made += n
		s.put(postings...)
		return postings
	}
	const batch = 100
	process := s.process()
	one := arrive(1)
	s.do("projecting one new posting, by a process that starts", true, func() { s.project(process, one...) })
	one = arrive(1)
	s.do("projecting the next one", true, func() { s.project(process, one...) })
	some := arrive(batch)
	s.do(fmt.Sprintf("projecting a batch of %d on the balance", batch), true, func() { s.project(process, some...) })
	some = arrive(batch)
	process = s.process()
	s.do(fmt.Sprintf("projecting %d more, by a process that starts", batch), true, func() { s.project(process, some...) })
	s.do("the same batch delivered again", true, func() { s.project(process, some...) })
}

// writes measures transactions of a process that has posted such ones before.
func (s *steps) writes(asset string) {
	s.t.Helper()
	for _, w := range []struct{ name, path, body string }{
		{"a transfer to it", "transfers", `{"from":"outside","to":"customers:00000017","asset":"ASSET","quantity":"125000"}`},
		{"a transfer from it, guarded", "transfers", `{"from":"customers:00000017","to":"outside","asset":"ASSET","quantity":"100"}`},
		{"a trade, settled, guarded", "trades", `{"asset":"ASSET","buyer":"outside","seller":"customers:00000017","quantity":"100","cost":"100","settle":true}`},
	} {
		s.tick() // who posts is refused when the clocks differ
		body := strings.Replace(w.body, "ASSET", asset, 1)
		s.Must(201, "POST", "/v1/"+w.path, body)
		s.do(w.name, true, func() { s.Must(201, "POST", "/v1/"+w.path, body) })
	}
}

// compare fails t unless what a size takes is what the reference takes, and what the smallest takes is no more.
func compare(t *testing.T, n int, lines, first, reference []line) {
	t.Helper()
	for i, l := range lines {
		if reference == nil {
			break
		}
		if want := reference[i]; l.name != want.name || !l.cost.same(want.cost) {
			t.Errorf("at %d, %s: %s; before, %s: %s", n, l.name, l.cost, want.name, want.cost)
		}
		if small := first[i]; !small.cost.within(l.cost) || l.all && !small.cost.same(l.cost) {
			t.Errorf("%s: %s at first, and then %s", l.name, small.cost, l.cost)
		}
	}
}

func names(lines []line) (all []string) {
	for _, l := range lines {
		all = append(all, l.name)
	}
	return all
}

func texts(lines []line) (all []string) {
	for _, l := range lines {
		all = append(all, l.cost.String())
	}
	return all
}
