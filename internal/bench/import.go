package bench

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"ledger.example/client"
	"ledger.example/internal/importer"
)

// linesAhead is how many unfinished lines the importer may have for each client: enough that some of them do not depend
// on others.
const linesAhead = 16

// lines is the file of the workload import, and the ledger to which the importer sends. The file is generated while it
// is read, and has no end. The importer parses each line and holds it back until the earlier lines of its accounts are
// done. Then a client of the load takes the line and posts it like any other request. The requests are like those of
// uniform, so the difference between the two workloads is the cost of the importer.
type lines struct {
	run   *Run
	slot  slot
	ctx   context.Context // ends the file and the importer
	ready chan line       // lines that may be posted
	ahead chan struct{}   // has one element for each unfinished line

	// The fields below are used only by Read.
	next  int
	draft draft
	text  bytes.Buffer // of the line that is being read
}

// line is a line that may be posted. The client closes done after it has posted the line.
type line struct {
	command client.Command
	done    chan struct{}
}

// importLines starts the importer. stop ends it. It may be called only when no client takes lines any more.
func (r *Run) importLines(s slot) (l *lines, stop func()) {
	ctx, end := context.WithCancelCause(context.Background())
	l = &lines{run: r, slot: s, ctx: ctx, ready: make(chan line), ahead: make(chan struct{}, linesAhead*r.Clients)}
	i := importer.New(importer.Config{
		Ledger: l, Clients: r.Clients, OnFailure: func(f importer.Failure) { end(f.Err) },
	})
	var importing sync.WaitGroup
	importing.Go(func() { end(i.Run(ctx, l)) })
	return l, func() {
		end(nil)
		importing.Wait()
	}
}

// take waits for the next line that may be posted, and sets d to its request. The caller must close done.
func (l *lines) take(d *draft) (done chan struct{}, err error) {
	select {
	case next := <-l.ready:
		id := next.command.ID
		n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
		l.run.write(l.slot, n, d)
		d.body = next.command.Body
		return next.done, err
	case <-l.ctx.Done():
		return nil, context.Cause(l.ctx)
	}
}

// Read implements io.Reader. It returns a part of one line. It blocks while linesAhead is reached.
func (l *lines) Read(p []byte) (int, error) {
	if l.text.Len() == 0 {
		select {
		case l.ahead <- struct{}{}:
		case <-l.ctx.Done():
			return 0, context.Cause(l.ctx)
		}
		l.run.write(l.slot, l.next, &l.draft)
		l.next++
		kind := strings.TrimSuffix(strings.TrimPrefix(l.draft.path, "/v1/"), "s")
		fmt.Fprintf(&l.text, "{%q:%s}\n", kind, l.draft.body)
	}
	return l.text.Read(p)
}

// Send implements importer.Ledger. It returns when a client has posted the line. The client counts the outcome, so Send
// reports success.
func (l *lines) Send(ctx context.Context, c client.Command) (client.Written, error) {
	next := line{c, make(chan struct{})}
	select {
	case l.ready <- next:
		<-next.done
		<-l.ahead
		return client.Written{New: true}, nil
	case <-ctx.Done():
		return client.Written{}, context.Cause(ctx)
	}
}

// Account implements importer.Ledger. All accounts in the file are limited.
func (*lines) Account(context.Context, string) (client.Reply[client.Account], error) {
	return client.Reply[client.Account]{}, nil
}
