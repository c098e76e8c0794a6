package bench

import (
	"runtime"
	"syscall"
	"time"
)

// process is what this process has used, the clients of the load included.
type process struct {
	cpu         time.Duration // user and system
	allocations uint64        // of the heap
}

// used tells how much it is so far.
func used() (process, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return process{}, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return process{time.Duration(r.Utime.Nano() + r.Stime.Nano()), m.Mallocs}, nil
}

func (p process) since(before process) process {
	return process{p.cpu - before.cpu, p.allocations - before.allocations}
}

func (p *process) add(other process) {
	p.cpu += other.cpu
	p.allocations += other.allocations
}
