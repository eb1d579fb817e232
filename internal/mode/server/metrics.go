package server

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
)

// counts is what the server has done, for /metrics.
type counts struct {
	wrong atomic.Int64 // requests without a token that is known

	mu   sync.Mutex
	done map[outcome]*total
}

// outcome is what one kind of requests had in common.
type outcome struct {
	route  string // as it is registered: no ids
	status int
}

type total struct {
	requests int64
	time     time.Duration
}

func (c *counts) add(route string, status int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := outcome{route, status}
	t := c.done[key]
	if t == nil {
		if c.done == nil {
			c.done = map[outcome]*total{}
		}
		t = &total{}
		c.done[key] = t
	}
	t.requests++
	t.time += took
}

// measured passes what a handler writes on, and keeps the status.
type measured struct {
	http.ResponseWriter
	status int
}

func (m *measured) WriteHeader(status int) {
	m.status = cmp.Or(m.status, status)
	m.ResponseWriter.WriteHeader(status)
}

// Unwrap is [http.ResponseController]'s.
func (m *measured) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// note counts a request that was served, and logs it. What it said is in neither.
// The cause of an error of the server is in the log only; nil is none.
func (s *Server) note(r *http.Request, status int, cause error, began time.Time) {
	took := time.Since(began)
	route := cmp.Or(r.Pattern, "none")
	status = cmp.Or(status, http.StatusOK)
	s.counts.add(route, status, took)
	if s.o.Log == nil {
		return
	}
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	fields := []any{"route", route, "status", status, "ms", took.Milliseconds(), "token", sender(r).Name, "from", clientAddr(r).String(), "https", isHTTPS(r)}
	if id := r.PathValue("id"); id != "" && status < http.StatusBadRequest { // else it may be anything
		fields = append(fields, "session", id)
	}
	if cause != nil && r.Context().Err() == nil {
		fields = append(fields, "error", cause.Error())
	}
	s.o.Log.Log(r.Context(), level, "request", fields...)
}

// metrics writes what the server does and has done, as text that Prometheus reads.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	gauge := func(name, help string, value any) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s gauge\n%[1]s %[3]v\n", name, help, value)
	}
	fmt.Fprintf(w, "# HELP burin_info The version that runs.\n# TYPE burin_info gauge\nburin_info{version=%q} 1\n", s.o.Version)
	gauge("burin_sessions_open", "Sessions that this server has open.", s.o.Open())
	gauge("burin_streams", "Streams of events, and clients that are attached.", len(s.streams))
	gauge("go_goroutines", "Goroutines.", runtime.NumGoroutine())
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	gauge("go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", sample[0].Value.Uint64())
	gauge("go_memstats_sys_bytes", "Bytes that the Go runtime has from the system.", sample[1].Value.Uint64())
	fmt.Fprintf(w, "# HELP burin_wrong_tokens_total Requests without a token that is known.\n# TYPE burin_wrong_tokens_total counter\nburin_wrong_tokens_total %d\n", s.counts.wrong.Load())
	s.counts.write(w)
}

func (c *counts) write(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Collect(maps.Keys(c.done))
	sorting.Stable(all, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.status, b.status))
	})
	for _, m := range []struct {
		name, help string
		value      func(*total) string
	}{
		{"burin_requests_total", "Requests that were answered.", func(t *total) string { return strconv.FormatInt(t.requests, 10) }},
		{"burin_request_seconds_total", "Seconds that they took; of streams, until they ended.", func(t *total) string { return strconv.FormatFloat(t.time.Seconds(), 'f', 6, 64) }},
	} {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s counter\n", m.name, m.help)
		for _, key := range all {
			fmt.Fprintf(w, "%s{route=%q,status=\"%d\"} %s\n", m.name, key.route, key.status, m.value(c.done[key]))
		}
	}
}
