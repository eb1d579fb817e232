package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	loadChats   = 200
	loadPace    = 20 * time.Millisecond // 50 tokens a second
	loadTime    = 10 * time.Second      // of each answer
	loadDelay   = 50 * time.Millisecond // from the model's token to the client's event: 99 of 100 at most
	loadMemory  = 150 << 20             // bytes
	idleStreams = 5000
	idleMemory  = 260 << 20       // the goal is 400
	loadLate    = 5 * time.Second // an answer may take longer; else the machine is too slow to say anything
)

// stamps serves chats whose tokens say when they were sent, "<nanoseconds>".
func stamps(t *testing.T, sent *atomic.Int64) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the client is gone
		}
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		tick := time.NewTicker(loadPace)
		defer tick.Stop()
		for range int(loadTime / loadPace) {
			<-tick.C
			if _, err := fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<%d> \"}}]}\n\n", time.Now().UnixNano()); err != nil {
				return // the same
			}
			_ = out.Flush()
			sent.Add(1)
		}
		fmt.Fprint(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":500}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	return srv
}

// Two hundred encrypted chats stream at once to as many clients. The model and the clients are this process.
func TestBudgetServe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is read from /proc")
	}
	bin := release(t)
	var sent atomic.Int64
	model := stamps(t, &sent)
	first := command(t)
	work := filepath.Join(first.Dir, "project")
	writeFile(t, filepath.Join(work, "a.txt"), []byte("a\n"), 0o644)
	writeFile(t, filepath.Join(first.Dir, "burin", "models.yml"), []byte("providers:\n  box:\n    baseUrl: "+model.URL+"/v1\n    api: openai-completions\n    auth: none\n    models: [{id: m, contextWindow: 200000, maxTokens: 8000, cost: {input: 1, output: 1}}]\n"), 0o600)
	writeFile(t, filepath.Join(first.Dir, "burin", "config.yml"), []byte("modelRoles: {default: box/m}\n"), 0o600)
	cmd := in(first, bin, work, "--version")
	c := serveWith(t, bin, cmd)
	ids := make([]string, loadChats)
	for i := range ids {
		var made struct{ Chat chatOf }
		c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{}, &made)
		ids[i] = made.Chat.ID
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadChats}}
	var mu sync.Mutex
	var delays []time.Duration
	var all sync.WaitGroup
	opened, _ := procMemory(c.cmd.Process.Pid, "VmRSS:")
	before := cpuTime(t, c.cmd.Process.Pid)
	mine := cpuTime(t, os.Getpid())
	began := time.Now()
	for _, id := range ids {
		r := c.request("GET", "/v1/events?session="+id, "")
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer answer.Body.Close()
			var seen []time.Duration
			in := bufio.NewReaderSize(answer.Body, 64<<10)
			for {
				line, err := in.ReadBytes('\n')
				now := time.Now().UnixNano()
				if err != nil {
					t.Error(err)
					break
				}
				if bytes.Contains(line, []byte(`"type":"text_delta"`)) {
					for rest := line; ; {
						_, after, ok := bytes.Cut(rest, []byte(`\u003c`))
						if !ok {
							if _, after, ok = bytes.Cut(rest, []byte("<")); !ok {
								break
							}
						}
						if stamp, err := strconv.ParseInt(string(after[:min(19, len(after))]), 10, 64); err == nil {
							seen = append(seen, time.Duration(now-stamp))
						}
						rest = after
					}
				}
				if bytes.Contains(line, []byte(`"type":"agent_settled"`)) {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			delays = append(delays, seen...)
		})
	}
	for _, id := range ids {
		all.Go(func() {
			r := c.request("POST", "/v1/sessions/"+id+"/submit", `{"message":{"role":"user","content":"go"}}`)
			answer, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if said, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", answer.Status, said)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	most, _ := procMemory(c.cmd.Process.Pid, "VmHWM:")
	slices.Sort(delays)
	if len(delays) == 0 {
		t.Fatal("no tokens came")
	}
	p := func(part float64) time.Duration { return delays[int(float64(len(delays)-1)*part)] }
	t.Logf("%d chats, %d tokens sent in %.1f s, %.0f a second; %d seen; delay p50 %v, p99 %v, most %v; server %.1f s of CPU, %.1f MB before and %.1f MB at most, generator %.1f s of CPU",
		loadChats, sent.Load(), took.Seconds(), float64(sent.Load())/took.Seconds(), len(delays), p(0.5), p(0.99), p(1),
		(cpuTime(t, c.cmd.Process.Pid) - before).Seconds(), float64(opened)/(1<<20), float64(most)/(1<<20), (cpuTime(t, os.Getpid()) - mine).Seconds())
	if want := int64(loadChats * int(loadTime/loadPace)); sent.Load() != want || took > loadTime+loadLate {
		t.Errorf("%d of %d tokens in %v: the machine is too slow to say anything", sent.Load(), want, took)
	}
	if p(0.99) >= loadDelay {
		t.Errorf("one of a hundred tokens comes after %v, want less than %v", p(0.99), loadDelay)
	}
	if most >= loadMemory {
		t.Errorf("the server takes %d bytes, want less than %d", most, loadMemory)
	}
	// What was said is there, and nothing of it in the clear.
	for _, word := range []string{"assistant", "\"go\""} {
		if found := filesWith(t, filepath.Join(first.Dir, "burin"), word); len(found) > 0 {
			t.Errorf("%q is in %v", word, found)
		}
	}
	var open struct{ Facts struct{ Leaf string } }
	c.must(http.StatusOK, "GET", "/v1/sessions/"+ids[0], nil, &open)
	var leaf json.RawMessage
	c.must(http.StatusOK, "POST", "/v1/sessions/"+ids[0]+"/entry", map[string]any{"id": open.Facts.Leaf}, &leaf)
	if !bytes.Contains(leaf, []byte(`"stopReason"`)) {
		t.Errorf("the last entry is %s", leaf)
	}
}

// Five thousand clients follow sessions in which nothing happens.
func TestBudgetServeIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is read from /proc")
	}
	bin := release(t)
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveWith(t, bin, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	client := &http.Client{Transport: &http.Transport{}}
	for range idleStreams {
		answer, err := client.Do(c.request("GET", "/v1/events?session="+made.ID, ""))
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
		defer answer.Body.Close()
	}
	before := cpuTime(t, c.cmd.Process.Pid)
	<-time.After(5 * time.Second)
	used := cpuTime(t, c.cmd.Process.Pid) - before
	now, _ := procMemory(c.cmd.Process.Pid, "VmRSS:")
	t.Logf("%d idle streams: %.1f MB of %d, %v of CPU in 5 s", idleStreams, float64(now)/(1<<20), idleMemory>>20, used)
	if now >= idleMemory {
		t.Errorf("%d idle streams take %d bytes, want less than %d", idleStreams, now, idleMemory)
	}
}

// cpuTime is the CPU time that a process has used.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
