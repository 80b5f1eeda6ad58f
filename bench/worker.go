package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// What workers do, by its name: see [proc.Register]. A cell whose framing framers knows is begun
// before the rest of the program is initialised, one of a registered framing when that is known.
const (
	cellWork       = "bench"
	registeredWork = "bench with registered framings"
	workloadWork   = "bench workload " // its name follows
)

func init() { proc.Register(cellWork, serveJobs) }

// workerMemory is how much a worker of one endpoint may hold, in bytes, before it collects garbage
// after all.
const workerMemory = 1 << 30

// Worker does a worker's job and exits, if this process was started as one; else it returns at
// once. Call it first in main and in TestMain of every program that calls [Run]: the engine starts
// the program again for each fork, so that nothing else of it runs beside a measured endpoint. It
// calls [proc.Worker], so what else the program registers for its workers has to be registered
// before.
func Worker() {
	proc.Register(registeredWork, serveJobs)
	proc.Worker()
}

// A job is what the controller asks of a worker: a slice of a cell. It travels as one line of JSON
// on the worker's standard input; the endpoints that the worker has are its arguments.
type job struct {
	Cell      results.Cell
	Seed      int64
	Recording string // path of the recorded messages, where the cell replays some

	Offset   int   // of messages within a page, if the cell does not say where they begin
	Warmup   int64 // messages before the clock starts
	Messages int64 // messages while it runs
	Compare  bool  // compare every byte: an untimed sample

	Workload string          // runs instead of the cell's pattern, where it is not empty
	Params   json.RawMessage // of the workload
}

// isLast reports whether the workers leave after the job.
func (j job) isLast() bool { return j.Workload != "" || isOpenLoop(j.Cell) && !j.Compare }

// An endpointConfig is one end of the pipe: what it does, and where.
type endpointConfig struct {
	Role  role
	CPU   int
	Alone bool // it has its worker for itself, and all of that is bound to the CPU
	Ends  int  // of pipes, that are its own among the worker's
}

// A role is what an endpoint does. The one that holds the clock says go.
type role string

const (
	sender   role = "sender"   // streams messages
	receiver role = "receiver" // takes them, and holds the clock
	client   role = "client"   // sends a message, awaits the reply, and holds the clock
	server   role = "server"   // sends each message back
)

// isOrigin reports whether the cell's messages come from there.
func (r role) isOrigin() bool { return r == sender || r == client }

// A report is what a worker answers for each endpoint, a line of JSON each.
type report struct {
	Role     role
	Error    string // empty if all went well
	PeerGone bool   // the error is that the other endpoint left, so the cause lies there

	results.Sample // what this endpoint knows of it

	Counters    results.Counters
	Checked     bool    // each message was, by number and length
	Trips       []int64 // nanoseconds of each round trip
	Collections uint32  // of the garbage collector while the clock ran: none is expected
	Departed    int64   // moment on the shared clock at which a reader closed its end, or its writer was told

	Returned json.RawMessage // by a workload
}

// reports are those of the two endpoints of one sample.
type reports []report

// of returns the report of the endpoint that has one of the roles.
func (rs reports) of(roles ...role) report {
	i := slices.IndexFunc(rs, func(r report) bool { return slices.Contains(roles, r.Role) })
	if i < 0 {
		return report{}
	}
	return rs[i]
}

// timerReport returns the report of the endpoint that timed the sample.
func (rs reports) timerReport() report { return rs.of(receiver, client) }

// sample puts the two halves together.
func (rs reports) sample() (s results.Sample, err error) {
	s = rs.joined()
	return s, addRoundTrips(&s, rs.timerReport().Trips)
}

// joined is the sample without the latency of its round trips, which takes a millisecond to sum up.
func (rs reports) joined() results.Sample {
	timer, origin := rs.timerReport(), rs.of(sender, client)
	s := timer.Sample
	s.WireBytes, s.Capacity = origin.WireBytes, origin.Capacity
	s.PayloadOffset = origin.PayloadOffset
	s.Writer, s.Reader = origin.Counters, rs.of(receiver, server).Counters
	if s.Left = origin.Left; s.Left != nil {
		s.Left.ToldNS = max(0, origin.Departed-timer.Departed)
	}
	return s
}

// addRoundTrips sums up what each round trip of a sample took, in nanoseconds. That is for the
// controller: a worker does not collect the garbage that it makes.
func addRoundTrips(s *results.Sample, trips []int64) (err error) {
	if len(trips) > 0 {
		s.Latency = map[string]results.Latency{}
		s.Latency["roundtrip"], err = results.NewLatency(trips)
	}
	return err
}

// failure returns the report to blame for a failed sample: one whose error is not just that the
// other endpoint left, if there is one.
func (rs reports) failure() (report, bool) {
	for _, gone := range []bool{false, true} {
		blamed := func(r report) bool { return r.Error != "" && r.PeerGone == gone }
		if i := slices.IndexFunc(rs, blamed); i >= 0 {
			return rs[i], true
		}
	}
	return report{}, false
}

// serveJobs does the jobs that come on standard input, one after another, with a goroutine for each
// endpoint of the worker. The worker leaves after a workload, an open loop or a failure: there some
// read until their peer is gone.
//
// The garbage collector is off: it would run beside the clock, and it stops the world, which a
// thread in a raw system call does not let it. What is no longer used is collected between two jobs
// instead, when there is much of it. A worker of one endpoint stops itself alone, so there a framing
// that allocates without end is caught by a limit, and the collections are counted.
func serveJobs(p *proc.Work) error {
	var configs []endpointConfig
	if err := p.Args(&configs); err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	if len(configs) == 1 {
		debug.SetMemoryLimit(workerMemory)
	}
	reports, left := make(chan report, len(configs)), p.Ends
	var endpoints []chan job
	for _, c := range configs {
		jobs := make(chan job)
		endpoints = append(endpoints, jobs)
		go serveEndpoint(c, left[:c.Ends], jobs, reports)
		left = left[c.Ends:]
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}} // which stops no world
	decoder := json.NewDecoder(os.Stdin)
	for last := false; !last; {
		var j job
		if err := decoder.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the job: %w", err)
		}
		for _, jobs := range endpoints {
			jobs <- j
		}
		last = j.isLast()
		for range endpoints {
			r := <-reports
			if err := p.Report(r); err != nil {
				return err
			}
			last = last || r.Error != ""
		}
		if metrics.Read(heap); heap[0].Value.Uint64() > workerMemory/8 {
			runtime.GC()
		}
	}
	return nil
}

// serveEndpoint does one endpoint's half of each job, on a thread of its own that is bound to its
// CPU. Of each cell the endpoint is kept: its messages and buffers, its framing's reader and writer.
func serveEndpoint(c endpointConfig, all []*syspipe.End, jobs <-chan job, reports chan<- report) {
	broken, queue, cells := c.pin(), openRunQueue(), map[results.Cell]*endpoint{}
	ends := endsOf(c.Role, all)
	made := sources{c.Role.isOrigin(), map[sourceKey]*payload.Source{}}
	for j := range jobs {
		e, err := cells[j.Cell], broken
		own, once := ends, j.Compare || j.Cell.ClosesAfter > 0
		if j.Cell.ClosesAfter > 0 && err == nil {
			own, err = ends.takeSpare()
		}
		if err == nil && (e == nil || once) {
			e, err = newEndpoint(j, c, own, made)
		}
		if err == nil {
			if !once {
				cells[j.Cell] = e
			}
			e.runQueue, e.shared = queue, len(cells) > 1
			err = e.run(j)
		}
		if err != nil || j.isLast() {
			proc.CloseAll(all) // so that the peer does not wait, for what an open loop that was given up never sent, say
		}
		if err != nil {
			reports <- report{Role: c.Role, Error: err.Error(), PeerGone: errors.Is(err, errPeerGone)}
		} else {
			reports <- e.report
		}
	}
}

// pin binds the calling goroutine and its CPU as the endpoint asks.
func (c endpointConfig) pin() error {
	runtime.LockOSThread()
	if c.Alone {
		return placement.PinProcess(c.CPU)
	}
	return placement.PinThread(c.CPU)
}

// pipeEnds are the ends of pipes that an endpoint has. The endpoints tell each other over toPeer and
// fromPeer that they are ready, or to go. Replies pass through back, which is nil in a stream. Of each
// pipe whose reader is to leave it has the end in spares.
type pipeEnds struct {
	toPeer, fromPeer, data, back *syspipe.End
	spares                       []*syspipe.End // those not taken yet
	hadSpares                    bool
}

// endsOf tells the ends of a role apart, which come in the order in which [openPipes] opens the pipes.
func endsOf(r role, ends []*syspipe.End) pipeEnds {
	p := pipeEnds{toPeer: ends[0], fromPeer: ends[1], data: ends[2], spares: ends[3:]}
	if !r.isOrigin() {
		p.toPeer, p.fromPeer = p.fromPeer, p.toPeer
	}
	if r == client || r == server { // of which nobody leaves
		p.back, p.spares = p.spares[0], nil
	}
	p.hadSpares = len(p.spares) > 0
	return p
}

// takeSpare returns the ends with one of the spares in place of the measured one.
func (p *pipeEnds) takeSpare() (pipeEnds, error) {
	if len(p.spares) == 0 {
		return *p, errors.New("the reader has left every pipe that this worker was given for it")
	}
	own := *p
	own.data, p.spares = p.spares[0], p.spares[1:]
	return own, nil
}

// grace is what a slice may take beyond twenty times its planned duration: the slowest cells (a 16
// MiB message, searched again after every read) take seconds for one message.
const grace = 30 * time.Second

// An errSlow is a slice that did not finish within its limit.
type errSlow struct{ limit time.Duration }

func (e errSlow) Error() string {
	return fmt.Sprintf("did not finish within %s and was killed", e.limit)
}

// An endpointSpec is an endpoint that is about to be handed to a worker.
type endpointSpec struct {
	endpointConfig
	ends []*syspipe.End
}

// openPipes opens what joins the two endpoints of a cell: two pipes over which they say that they are
// ready, the measured one, one for each job whose reader leaves, and the one back for replies. The ends
// are in the controller's hands only to be passed on.
func openPipes(c results.Cell, cpus placement.CPUs, leaving int) (origin, other endpointSpec, err error) {
	origin.Role, origin.CPU = sender, cpus.Writer
	other.Role, other.CPU = receiver, cpus.Reader
	open := func(from, to *endpointSpec, kind syspipe.Kind, capacity int) {
		if err != nil {
			return
		}
		var w, r *syspipe.End
		if w, r, err = syspipe.Open(kind, syspipe.Options{Capacity: capacity, IO: syspipe.Blocking}); err == nil {
			from.ends, to.ends = append(from.ends, w), append(to.ends, r)
		}
	}
	open(&origin, &other, syspipe.Anonymous, 0)
	open(&other, &origin, syspipe.Anonymous, 0)
	for range 1 + leaving {
		open(&origin, &other, syspipe.Kind(c.Pipe), c.Capacity)
	}
	if c.Pattern == "roundtrip" {
		origin.Role, other.Role = client, server
		open(&other, &origin, syspipe.Kind(c.Pipe), c.Capacity)
	}
	if err != nil {
		proc.CloseAll(append(origin.ends, other.ends...))
	}
	return origin, other, err
}

// A worker is a process that runs one endpoint or both.
type worker struct {
	*proc.Process
	jobs  *os.File // takes a job a line; its end tells the worker to leave
	roles []string
}

// startWorker starts a worker with its endpoints, whose pipe ends are closed here in any case.
func startWorker(ctx context.Context, work string, specs ...endpointSpec) (*worker, error) {
	w := &worker{}
	var configs []endpointConfig
	var ends []*syspipe.End
	for _, s := range specs {
		s.Alone, s.Ends = len(specs) == 1, len(s.ends)
		configs, ends = append(configs, s.endpointConfig), append(ends, s.ends...)
		w.roles = append(w.roles, string(s.Role))
	}
	var err error
	if w.Process, err = proc.Self(work, configs, ends...); err != nil {
		return nil, err
	}
	if w.jobs, err = w.Pipe(0); err != nil {
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// explain says why a worker does not report as it should, and ends it.
func (w *worker) explain(ctx context.Context, err error) error {
	who := strings.Join(w.roles, " and ")
	if ctx.Err() != nil {
		return fmt.Errorf("the %s %w", who, context.Cause(ctx))
	}
	w.Stop(time.Second, 0) // it said the last it had to say, so it is about to end
	if exit := w.Wait(); exit != nil {
		return fmt.Errorf("the %s died: %w", who, exit)
	}
	if errors.Is(err, proc.ErrNotBegun) { // a program that runs on where a worker ends
		err = fmt.Errorf("%w; main, or TestMain, has to call bench.Worker first", err)
	}
	return fmt.Errorf("the %s: %w", who, err)
}

// A fork is the workers that share the pipes of a group of cells, started once. They do jobs until
// it is closed, and wait in between for the next, each in a read.
type fork struct {
	ctx     context.Context // ends the workers
	cancel  context.CancelCauseFunc
	limit   func() time.Duration // that a job which begins now may take
	offset  int                  // of its messages within a page, unless a cell says otherwise
	workers []*worker
}

// startFork opens pipes for cells such as a job's and starts their workers. In so many of their jobs
// the reader may leave.
func startFork(ctx context.Context, j job, cpus placement.CPUs, limit func() time.Duration, leaving int) (*fork, error) {
	origin, other, err := openPipes(j.Cell, cpus, leaving)
	if err != nil {
		return nil, err
	}
	f := &fork{limit: limit, offset: j.Offset}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	ends := [][]endpointSpec{{origin}, {other}}
	if j.Cell.Peer == "thread" {
		ends = [][]endpointSpec{{origin, other}}
	}
	for i, specs := range ends {
		w, err := startWorker(f.ctx, j.work(), specs...)
		if err != nil {
			for _, later := range ends[i+1:] {
				proc.CloseAll(later[0].ends)
			}
			f.close()
			return nil, err
		}
		f.workers = append(f.workers, w)
	}
	return f, nil
}

// close ends the workers and waits until they are gone.
func (f *fork) close() {
	for _, w := range f.workers {
		w.Close()
	}
	f.cancel(nil)
}

// run has the workers do a job together, and returns the reports of both endpoints. When one dies,
// those that wait for it find their pipes closed and report that. One that takes longer than the
// limit is killed, and the other with it.
func (f *fork) run(j job) (reports, error) {
	j.Offset = f.offset
	limit := f.limit()
	alarm := time.AfterFunc(limit, func() { f.cancel(errSlow{limit}) })
	defer alarm.Stop()
	var done sync.WaitGroup
	parts, errs := make([]reports, len(f.workers)), make([]error, len(f.workers))
	for i, w := range f.workers {
		done.Go(func() {
			sent := json.NewEncoder(w.jobs).Encode(j)
			for range w.roles {
				var r report
				if err := w.Report(&r); err != nil {
					errs[i] = w.explain(f.ctx, errors.Join(err, sent))
					return
				}
				parts[i] = append(parts[i], r)
			}
		})
	}
	done.Wait()
	all, err := slices.Concat(parts...), errors.Join(errs...)
	if r, failed := all.failure(); failed && f.ctx.Err() == nil && !(r.PeerGone && err != nil) {
		return nil, fmt.Errorf("%s: %s", r.Role, r.Error)
	}
	return all, err
}

// work names the work of the processes that do this job.
func (j job) work() string {
	if j.Workload != "" {
		return workloadWork + j.Workload
	}
	if _, err := framers.Parse(j.Cell.Framing); err != nil {
		return registeredWork
	}
	return cellWork
}
