package pump

import "time"

// outageInterval is how often an outage is told of while it lasts.
const outageInterval = 15 * time.Second

// outage is a time in which the stream answers no request.
type outage struct {
	began time.Time // zero: there is none
	told  time.Time // when it was told of last
}

// failed notes a request that was not answered, and tells of it: at first and
// then now and then, as shards and listings are asked for all the time.
func (p *Pump) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.outage.began.IsZero() {
		p.outage.began = now
	}
	if now.Sub(p.outage.told) >= outageInterval {
		p.outage.told = now
		p.log.Warn("the stream cannot be read, trying again", "stream", p.arn,
			"since", p.outage.began.UTC().Format(time.RFC3339), "error", err)
	}
}

// answered notes a request that was. After an outage the age of records counts
// anew: nobody could take them meanwhile.
func (p *Pump) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outage.began.IsZero() {
		return
	}
	now := time.Now()
	p.log.Warn("the stream can be read again", "stream", p.arn, "after", now.Sub(p.outage.began).Round(time.Millisecond).String())
	p.outage = outage{}
	p.ageFrom = now
}

// oldest returns the time from which the age of records counts at the earliest,
// and whether it counts now.
func (p *Pump) oldest() (from time.Time, counts bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ageFrom, p.outage.began.IsZero()
}
